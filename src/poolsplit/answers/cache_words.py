"""Words of a command line for what decides which prefixes survive, and the fields of the replay behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.units import parse_count

if TYPE_CHECKING:
    from collections.abc import Mapping

CACHE_FIELDS = {
    "strategy": "strategy",
    "page_size": "page_tokens",
    "chunked_prefill_size": "chunk_tokens",
    "track_interval": "track_interval_tokens",
    "state_chunk": "state_chunk_tokens",
    "max_states_per_path": "max_states_per_path",
}
"""Word of the command line and field of `replay.config.ReplayConfig`."""


def cache_fields(words: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the words that are given: None is not given, and a count may be text such as `8k`.

    Raises:
        InputError: A count that is none.
    """
    given = {word: words[word] for word in CACHE_FIELDS if words.get(word) is not None}
    fields = {
        CACHE_FIELDS[word]: parse_count(value) if isinstance(value, str) and word != "strategy" else value
        for word, value in given.items()
    }
    return {**fields, "overlap": False} if fields.get("strategy") == "no_buffer" else fields
