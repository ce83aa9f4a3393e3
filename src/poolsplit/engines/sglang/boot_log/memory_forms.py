"""The lines that say how much device memory there was at each step of the start."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import Available, BaselineUse, GraphCapture, ImageReserve, Mark, Summary, WeightLoad
from poolsplit.engines.sglang.boot_log.figures import INTEGER, SIZE, find_integer, find_size, parse_size

if TYPE_CHECKING:
    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.records import Record

_AVAILABLE = re.compile("availmem=?" + SIZE)
_USED = re.compile("memusage=?" + SIZE)
_MODEL_CLASS = re.compile(r"type=([A-Za-z]\w*)(?=,)")
_QUANTIZATION = re.compile(r"quant=([\w-]+)(?=,)")
_GRAPH_NAME = re.compile(r"Capture\s+(.{0,80}?)\s*end\.", re.DOTALL)
_GRAPH_WORDS = re.compile(r"\s*(?:CUDA|cuda|HIP|XPU|NPU)?\s*graph$")
_SUMMARY = re.compile(r"^max_total_num_tokens=" + INTEGER)
_SUMMARY_FIELDS = {
    "max_running_requests": re.compile("max_running_requests=" + INTEGER),
    "context_len": re.compile("context_len=" + INTEGER),
    "chunked_prefill_size": re.compile("chunked_prefill_size=" + INTEGER),
    "max_prefill_tokens": re.compile("max_prefill_tokens=" + INTEGER),
}
_SUMMARY_AVAILABLE = re.compile("available_gpu_mem=" + SIZE)
_IMAGES = re.compile("Reserving" + SIZE + "oftheKVbudget")


def load_begin(record: Record) -> Fact | None:
    """`Load weight begin. avail mem=X GB`."""
    if "Loadweightbegin" not in record.squeezed:
        return None
    return Available(moment="load_begin", available=find_size(_AVAILABLE, record.squeezed))


def weight_load(record: Record) -> Fact | None:
    """`Load weight end. ...`: class, quantisation, what is free and what the weights took."""
    if "Loadweightend" not in record.squeezed:
        return None
    text = record.squeezed.partition("Loadweightend")[2]
    model_class, quantization = _MODEL_CLASS.search(text), _QUANTIZATION.search(text)
    return WeightLoad(
        model_class=model_class[1] if model_class else None,
        quantization=quantization[1] if quantization else None,
        available=find_size(_AVAILABLE, text),
        used=find_size(_USED, text),
    )


def pool_end(record: Record) -> Fact | None:
    """`Memory pool end. avail mem=X GB`; printed once more for a draft."""
    if "Memorypoolend" not in record.squeezed:
        return None
    return Available(moment="pool_end", available=find_size(_AVAILABLE, record.squeezed))


def baseline(record: Record) -> Fact | None:
    """What the process group took: one wording up to 0.5.20, another from 0.5.21."""
    if "Memorybaselinetaken" in record.squeezed or "Inittorchdistributedends" in record.squeezed:
        return BaselineUse(used=find_size(_USED, record.squeezed))
    return None


def graph_capture(record: Record) -> Fact | None:
    """`Capture ... graph end. ...`, old and new wording."""
    match = _GRAPH_NAME.search(record.text)
    if not match or "Capture" not in record.squeezed:
        return None
    name = _GRAPH_WORDS.sub("", match[1]) or "cuda graph"
    return GraphCapture(
        what=name if len(name) <= 60 else "graph",  # noqa: PLR2004  longer than any name: a wrapped text
        used=find_size(_USED, record.squeezed),
        available=find_size(_AVAILABLE, record.squeezed),
    )


def image_reserve(record: Record) -> Fact | None:
    """`Reserving X GB of the KV budget ...` of a model that takes images."""
    match = _IMAGES.search(record.squeezed)
    return ImageReserve(size=parse_size(match[1])) if match else None


def summary(record: Record) -> Fact | None:
    """`max_total_num_tokens=N, ...`; any field but the first may be missing."""
    text = record.squeezed
    match = _SUMMARY.search(text)
    if not match:
        return None
    fields = {name: find_integer(pattern, text) for name, pattern in _SUMMARY_FIELDS.items()}
    return Summary(kv_tokens=int(match[1].replace(",", "")), available=find_size(_SUMMARY_AVAILABLE, text), **fields)


def mark(record: Record) -> Fact | None:
    """Moments without figures that tell where one start ends and the next begins."""
    for text, what in (
        ("Inittorchdistributedbegin", "init"),
        ("Theserverisfiredup", "ready"),
        ("SIGQUITreceived", "exit"),
        ("Receivedsigquit", "exit"),
        ("graphbegin.", "graph_begin"),
    ):
        if text in record.squeezed:
            return Mark(what=what)
    return None
