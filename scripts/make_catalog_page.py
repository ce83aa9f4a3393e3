"""Writes docs/reference/catalog.md, the embedded models and cards, or checks that it is current (`--check`)."""

import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generated_page import REFERENCE, settle, table

COMMAND = str(Path(sysconfig.get_path("scripts")) / "poolsplit")
HEAD = """# Embedded models and cards

Written by `scripts/make_catalog_page.py` from `poolsplit models --json` and `poolsplit gpus --json`; the tests hold it
to them. What the provenances mean is said in [models](../models.md#how-sure-an-entry-is)."""
MODELS_NOTE = """Bytes are those of one rank at tensor parallelism 1, with the dtypes that the model has by itself; `+`
marks a model with window layers, which have a pool of their own. `poolsplit models ID` shows every width."""


def listed(command: str) -> list[Mapping[str, Any]]:
    """One of our own lists."""
    done = subprocess.run([COMMAND, command, "--json"], capture_output=True, text=True, check=True)
    entries: list[Mapping[str, Any]] = json.loads(done.stdout)[command]
    return entries


def number(value: float | None) -> str:
    """A figure with separators; nothing where there is none."""
    return "" if value is None else f"{value:,}"


def models() -> Iterator[tuple[str, ...]]:
    """One row a model."""
    for model in listed("models"):
        yield (
            f"`{model['id']}`",
            model["provenance"],
            model["state_kind"] or "",
            f"{model['state_layers']} / {model['kv_layers']}{'+' * bool(model['window_layers'])}",
            number(model["state_bytes_per_slot"]),
            number(model["kv_bytes_per_token"]),
            number(model["context_len"]),
        )


def sources() -> Iterator[tuple[str, str, str]]:
    """Where each model's facts come from, and what to be careful about."""
    for model in listed("models"):
        yield f"`{model['id']}`", model["source"], model["caution"] or ""


def cards() -> Iterator[tuple[str, ...]]:
    """One row a card."""
    for card in listed("gpus"):
        yield (
            f"`{card['id']}`",
            card["name"],
            ", ".join(f"`{alias}`" for alias in card["aliases"]),
            card["chip"],
            number(card["memory_mib"]),
            "yes" if card["verified"] else "no",
            card["source"],
        )


def main() -> int:
    """Writes the page, or says that it is out of date."""
    parts = [
        HEAD,
        "## Models",
        MODELS_NOTE,
        table(("id", "provenance", "state", "state / KV layers", "bytes a slot", "bytes a token", "context"), models()),
        "## Cards",
        "`verified`: recorded answers of the engine cover the platform.",
        table(("id", "name", "also", "chip", "MiB", "verified", "source"), cards()),
        "## Where the models' facts come from",
        table(("id", "source", "caution"), sources()),
    ]
    return settle({REFERENCE / "catalog.md": "\n\n".join(parts) + "\n"})


if __name__ == "__main__":
    sys.exit(main())
