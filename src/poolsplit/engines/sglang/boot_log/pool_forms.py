"""The lines that say how large the pools are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import (
    CheckpointPool,
    ElasticPool,
    HostKv,
    HostState,
    KvPool,
    RingBuffers,
    StatePool,
    UnifiedPool,
    WindowPool,
)
from poolsplit.engines.sglang.boot_log.figures import INTEGER, SIZE, find_integer, find_size, parse_size

if TYPE_CHECKING:
    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.records import Record

GB_DECIMAL = 10**9
"""Host lines print this many bytes as 1 GB, device lines 2^30."""

_STATE = re.compile(r"MambaCacheisallocated|^max_mamba_cache_size[:=]-?\d{1,18},?(?:conv_state|ssm_state)")
_STATE_SLOTS = re.compile(r"max_mamba_cache_size[:=]" + INTEGER)
_CONV = re.compile(r"(?<!_)conv_state(?:size)?[:=]?" + SIZE)
_SSM = re.compile(r"(?<!intermediate_)ssm_state(?:size)?[:=]?" + SIZE)
_SCRATCH_SSM = re.compile(r"intermediate_ssm(?:_state)?(?:_cache)?(?:size)?[:=]?" + SIZE)
_SCRATCH_CONV = re.compile(r"(?:intermediate_)?conv_window(?:_cache)?(?:size)?[:=]?" + SIZE)

_KV = re.compile(r"KVCacheisallocated|KVcacheallocated")
_DTYPE = re.compile(r"dtype[:=]([A-Za-z][\w.]*?)(?=[,#;]|$)")
_TOKENS = re.compile(r"#?tokens[:=]" + INTEGER)
_K = re.compile(r"(?:[,;#.\d]|GB|^)K(?:size)?[:=]?" + SIZE)
_V = re.compile(r"(?:[,;#.\d]|GB|^)V(?:size)?[:=]?" + SIZE)
_K_AND_V = re.compile(r"KV(?:size)?[:=]?" + SIZE)

_RING = re.compile(r"ReplaySSMringbuffersallocated\(([^)]{0,200})\):(.{0,400})")
_RECORD_LEN = re.compile(r"(?:record_len|L)=" + INTEGER)
_RING_SIZE = re.compile(r"\b\w+=" + SIZE)

_HOST_KV = re.compile(r"hierarchicalKVhostpool:" + INTEGER + "tokens")
_HOST_KV_SIZE = re.compile(SIZE + "hostmemory")
_HOST_STATE = re.compile("Allocating" + SIZE + "hostmemoryforhierarchicalMambacache")
_HOST_SLOTS = re.compile(INTEGER + "stateslots")
_LAYOUT = re.compile(r"layout=(\w+)")

_CHECKPOINTS = re.compile("int8mambacheckpointpool:" + INTEGER + "slots(?:," + SIZE + ")?")
_ACTIVE_SLOTS = re.compile("activemambapool" + INTEGER + "slots")

_WINDOW = re.compile(r"full(?:_layer_tokens|size)[=:]" + INTEGER)
_WINDOW_TOKENS = re.compile(r"swa(?:_layer_tokens|size)[=:]" + INTEGER)

_UNIFIED = "[unified-memory-pool]"
_UNIFIED_FIELDS = {
    "total_bytes": re.compile("total_bytes=" + INTEGER),
    "kv_tokens": re.compile("max_total_num_tokens=" + INTEGER),
    "state_slots": re.compile("max_mamba_cache_size=" + INTEGER),
    "requests": re.compile("max_num_reqs=" + INTEGER),
}
_UNIFIED_RATIO = re.compile(r"mamba_full_memory_ratio=(\d{1,18}(?:\.\d{1,18})?)governs")

_ELASTIC = re.compile(r"ElasticMambaPool")
_ELASTIC_FIELDS = {
    "slots": re.compile("#slots=" + INTEGER),
    "state_layers": re.compile("#mamba_layers=" + INTEGER),
    "padded_bytes_per_layer_slot": re.compile("super_cell_bytes=" + INTEGER),
}
_ELASTIC_PADDED = re.compile(r"Elasticmambacellpadded:raw=(\d{1,18})B->(\d{1,18})B")


def state_pool(record: Record) -> Fact | None:
    """`Mamba Cache is allocated. ...`, and the short summaries that people write for each rank."""
    text = record.squeezed
    if not _STATE.search(text):
        return None
    return StatePool(
        state_slots=find_integer(_STATE_SLOTS, text),
        conv=find_size(_CONV, text),
        ssm=find_size(_SSM, text),
        scratch_ssm=find_size(_SCRATCH_SSM, text),
        scratch_conv=find_size(_SCRATCH_CONV, text),
    )


def kv_pool(record: Record) -> Fact | None:
    """`KV Cache is allocated. ...`, with and without a dtype, split or joined sizes."""
    match = _KV.search(record.squeezed)
    if not match:
        return None
    text = record.squeezed[match.end() :]
    dtype = _DTYPE.search(text)
    joined = find_size(_K_AND_V, text)
    return KvPool(
        dtype=dtype[1] if dtype else None,
        tokens=find_integer(_TOKENS, text),
        k=None if joined else find_size(_K, text),
        v=None if joined else find_size(_V, text),
        kv=joined,
    )


def ring_buffers(record: Record) -> Fact | None:
    """`GDN ReplaySSM ring buffers allocated (...): d=.., k=.., g=..`."""
    match = _RING.search(record.squeezed)
    if not match:
        return None
    sizes = tuple(parse_size(size[1]) for size in _RING_SIZE.finditer(match[2]))
    return RingBuffers(record_len=find_integer(_RECORD_LEN, match[1]), sizes=sizes)


def checkpoint_pool(record: Record) -> Fact | None:
    """`int8 mamba checkpoint pool: N slots, ...`."""
    match = _CHECKPOINTS.search(record.squeezed)
    if not match:
        return None
    return CheckpointPool(
        slots=int(match[1].replace(",", "")),
        size=parse_size(match[2]) if match[2] else None,
        active_slots=find_integer(_ACTIVE_SLOTS, record.squeezed),
    )


def host_kv(record: Record) -> Fact | None:
    """`Allocating kv hierarchical KV host pool: N tokens, X GB host memory`; decimal GB."""
    tokens = find_integer(_HOST_KV, record.squeezed)
    if tokens is None:
        return None
    return HostKv(tokens=tokens, size=find_size(_HOST_KV_SIZE, record.squeezed, GB_DECIMAL))


def host_state(record: Record) -> Fact | None:
    """`Allocating X GB host memory for hierarchical Mamba cache (...)`; decimal GB."""
    match = _HOST_STATE.search(record.squeezed)
    if not match:
        return None
    layout = _LAYOUT.search(record.squeezed)
    return HostState(
        slots=find_integer(_HOST_SLOTS, record.squeezed),
        size=parse_size(match[1], GB_DECIMAL),
        layout=layout[1] if layout else None,
    )


def window_pool(record: Record) -> Fact | None:
    """`Use sliding window memory pool. ...` and `SWAKVPool mem usage: ...`."""
    if "slidingwindowmemorypool" not in record.squeezed and "SWAKVPool" not in record.squeezed:
        return None
    return WindowPool(
        full_tokens=find_integer(_WINDOW, record.squeezed), window_tokens=find_integer(_WINDOW_TOKENS, record.squeezed)
    )


def unified_pool(record: Record) -> Fact | None:
    """One line of the `[unified-memory-pool]` block."""
    if _UNIFIED not in record.squeezed:
        return None
    ratio = _UNIFIED_RATIO.search(record.squeezed)
    fields = {name: find_integer(pattern, record.squeezed) for name, pattern in _UNIFIED_FIELDS.items()}
    return UnifiedPool(**fields, state_to_kv_ratio=float(ratio[1]) if ratio else None)


def elastic_pool(record: Record) -> Fact | None:
    """The elastic pool's lines, printed in place of the engine's own."""
    padded = _ELASTIC_PADDED.search(record.squeezed)
    if padded:
        return ElasticPool(raw_bytes_per_layer_slot=int(padded[1]), padded_bytes_per_layer_slot=int(padded[2]))
    if not _ELASTIC.search(record.squeezed):
        return None
    return ElasticPool(**{name: find_integer(pattern, record.squeezed) for name, pattern in _ELASTIC_FIELDS.items()})
