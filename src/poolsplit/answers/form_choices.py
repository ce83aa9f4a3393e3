"""What a form offers: releases, card generations, strategies and samples."""

from __future__ import annotations

from typing import Any

from poolsplit.answers.opened_launch import ARCHITECTURES
from poolsplit.answers.trace_samples import SAMPLES
from poolsplit.engines.sglang.cache_flags import CACHE_LEVERS
from poolsplit.engines.sglang.versions import VERSIONS


def form_choices() -> dict[str, Any]:
    """Lists by name, the newest release first."""
    return {
        "versions": list(reversed(VERSIONS)),
        "card_architectures": list(ARCHITECTURES),
        "strategies": list(CACHE_LEVERS["strategy"]),
        "samples": [
            {"name": name, "title": sample.title, "command": sample.command} for name, sample in SAMPLES.items()
        ],
    }
