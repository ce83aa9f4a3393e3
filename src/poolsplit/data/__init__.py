"""Embedded facts that are not models: the cards, each with its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from poolsplit.errors import InputError

_CARDS = Path(__file__).parent / "gpus.toml"
_NEAR_COUNT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One accelerator model."""

    id: str
    """The name that commands take."""
    name: str
    aliases: tuple[str, ...]
    architecture: str
    chip: str
    """Target name of the chip: sm_90, gfx942."""
    compute_capability: tuple[int, int] | None
    """Major and minor; None where the vendor numbers its chips otherwise."""
    memory_mib: int
    """What the management tool prints, in MiB."""
    process_total_gib: float | None
    """What a process sees in all, in GiB; None where no source tells."""
    verified: bool
    """Whether the solver's answers for this card were held against the engine itself."""
    source: str
    note: str


@cache
def gpus() -> tuple[Gpu, ...]:
    """Every embedded card, in the order of the file."""
    text = _CARDS.read_text(encoding="utf-8")
    return tuple(_card(**row) for row in tomllib.loads(text)["gpu"])


def gpu(name: str) -> Gpu:
    """A card by its id, one of its other names or its full name; case, blanks and dashes do not count.

    Raises:
        InputError: No such card; the hint names the near ones.
    """
    known = {_plain(label): card for card in gpus() for label in (card.name, *card.aliases, card.id)}
    found = known.get(_plain(name))
    if found is not None:
        return found
    import difflib

    close = difflib.get_close_matches(_plain(name), known, n=_NEAR_COUNT)
    listed = ", ".join(dict.fromkeys(known[label].id for label in close))
    raise InputError(
        f"no embedded card `{name}`",
        hint=(f"it is not in the catalog, and near names are other cards: {listed}; " if listed else "")
        + "`poolsplit gpus` lists all, or give --gpu-memory and --gpu-arch",
    )


def _card(
    *,
    compute_capability: list[int] | None = None,
    process_total_gib: float | None = None,
    aliases: list[str],
    note: str = "",
    **facts: str | int | bool,
) -> Gpu:
    """One row of the file; a key that is missing or not known is a mistake in the file and stops here."""
    capability = None if compute_capability is None else (compute_capability[0], compute_capability[1])
    return Gpu(
        compute_capability=capability,
        process_total_gib=process_total_gib,
        aliases=tuple(aliases),
        note=note,
        **facts,  # type: ignore[arg-type]  # the file's own types, held by a test
    )


def _plain(label: str) -> str:
    return "".join(character for character in label.casefold() if character.isalnum())
