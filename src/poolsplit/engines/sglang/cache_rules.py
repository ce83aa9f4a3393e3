"""What SGLang's prefix cache does, by release; held to the real 0.5.23 by the golden workloads."""

from __future__ import annotations

from dataclasses import replace

from poolsplit.engines.cache_rules import CacheRules
from poolsplit.errors import InputError

_NEWEST = CacheRules(
    engine="sglang",
    version="0.5.23",
    evidence="run",
    grid_joins_pages=True,
    path_cap=True,
    decode_lock_option=True,
    bare_node_locks=True,
    lazy_lock_release=True,
    refreshes_whole_path=False,
    host_tier=True,
    unified_memory=True,
    sparse_checkpoints=False,
    slots_beside_tracking=3,
    decode_clip_tokens=4096,
    retract_free_tokens=20,
    new_token_ratio=0.7,
    new_token_floor_ratio=0.14,
    new_token_decay_steps=600,
    refresh_every_passes=32,
    refresh_requests=128,
    shared_head_tokens=32,
    input_margin_tokens=5,
)

NEXT = "next"
"""Name of the sparse checkpoint policy that the documentation announces (`--hybrid-cache-checkpoints-level 2`)."""

_FIRST, _LAST = 16, 23
_SINCE = {
    "path_cap": 17,
    "decode_lock_option": 17,
    "grid_joins_pages": 18,
    "bare_node_locks": 20,
    "lazy_lock_release": 23,
}
"""Release 0.5.N in which a rule appeared."""


def cache_rules(version: str = "0.5.23") -> CacheRules:
    """The cache law of one release, 0.5.16 to 0.5.23, or of the announced `next`.

    Only 0.5.23 is held to the real engine; the releases before it are from their source, `next` from documentation.

    Raises:
        InputError: A release whose cache is not known.

    Known error:
        What the releases before 0.5.23 share with it is taken as unchanged.
    """
    if version == NEXT:
        announced = replace(_NEWEST, version=NEXT, evidence="documentation", sparse_checkpoints=True)
        return replace(announced, host_tier=False, unified_memory=False)
    if version == _NEWEST.version:
        return _NEWEST
    known = [f"0.5.{n}" for n in range(_FIRST, _LAST + 1)]
    if version not in known:
        raise InputError(
            f"the prefix cache of release `{version}` is not known", hint=f"known are {', '.join(known)} and `{NEXT}`"
        )
    release = _FIRST + known.index(version)
    return replace(
        _NEWEST,
        version=version,
        evidence="read",
        host_tier=False,
        unified_memory=False,
        path_cap=release >= _SINCE["path_cap"],
        decode_lock_option=release >= _SINCE["decode_lock_option"],
        grid_joins_pages=release >= _SINCE["grid_joins_pages"],
        bare_node_locks=release >= _SINCE["bare_node_locks"],
        lazy_lock_release=release >= _SINCE["lazy_lock_release"],
    )
