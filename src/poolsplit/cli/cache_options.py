"""The option group of the commands that replay a trace: the server's cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class CacheOptions:
    """What decides which prefixes survive."""

    strategy: Literal["no_buffer", "extra_buffer", "extra_buffer_lazy"] | None = None
    """Where checkpoints come from."""
    page_size: int | None = None
    """Tokens of a page."""
    chunked_prefill_size: str | None = None
    """New tokens of one prefill batch."""
    track_interval: str | None = None
    """Tokens between two decode snapshots."""
    state_chunk: str | None = None
    """Tokens between two states of the model's recurrent kernel."""
    max_states_per_path: int | None = None
    """Soft cap on the states of a path."""
    engine_version: str | None = None
    """Release whose cache law is followed, or `next` for the announced sparse checkpoints."""
