"""Logs of engines that we do not plan for: named, with the figures that can be read, and no advice.

TensorRT-LLM prints nearly the same state pool line as SGLang; it is told apart by its own tag and by a comma before the
third size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import ForeignLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEXT_CHARS = 400

_SIZE = r"(-?\d{1,18}(?:\.\d{1,18})?)"

_VLLM = re.compile(
    r"\bvllm\b|\(\w+ pid=\d{1,18}\)|mamba page size|GPU KV cache size|Maximum concurrency for", re.IGNORECASE
)
_VLLM_FIGURES: tuple[tuple[str, re.Pattern[str], type], ...] = (
    ("attention_block_tokens", re.compile(r"attention block size to (\d{1,18}) tokens"), int),
    ("state_page_padding_percent", re.compile(rf"Padding mamba page size by {_SIZE}%"), float),
    ("kv_cache_tokens", re.compile(r"GPU KV cache size: (\d[\d,]{0,23}) tokens"), int),
    ("max_concurrency", re.compile(rf"Maximum concurrency for [\d,]+ tokens per request: {_SIZE}x"), float),
    ("kv_cache_gib", re.compile(rf"Available KV cache memory: {_SIZE} GiB"), float),
    ("weights_gib", re.compile(rf"Model loading took {_SIZE} Gi?B"), float),
    ("engine_version", re.compile(r"(?:vLLM API server version|LLM engine \(v)v?\s*([\w.+]+)"), str),
)

_LLAMA = re.compile(
    r"llama_(?:context|kv_cache|memory_recurrent|model_loader|new_context|init)|ggml_|llama\.cpp|llama-server"
)
_LLAMA_FIGURES: tuple[tuple[str, re.Pattern[str], type], ...] = (
    ("sequences", re.compile(r"n_seq_max\s*= (\d{1,18})"), int),
    ("context_tokens", re.compile(r"n_ctx\s*= (\d{1,18})"), int),
)
_LLAMA_KV = re.compile(rf"llama_kv_cache: size =\s*{_SIZE} MiB \(\s*(\d{{1,18}}) cells,\s*(\d{{1,18}}) layers")
_LLAMA_STATE = re.compile(
    rf"llama_memory_recurrent: size =\s*{_SIZE} MiB \(\s*(\d{{1,18}}) cells,\s*(\d{{1,18}}) layers.{{0,40}}?"
    rf"R \(\w+\):\s*{_SIZE} MiB, S \(\w+\):\s*{_SIZE} MiB"
)

_TRT_TAG = re.compile(r"\[TRT-LLM\]|\btensorrt_llm\b|\bTensorRT-LLM version")
_TRT_STATE = re.compile(
    r"Mamba Cache is allocated\b.{0,200}?ssm_state size: ?[\d.]+ ?GB, intermediate_ssm_state_cache size:"
)
_TRT_FIGURES: tuple[tuple[str, re.Pattern[str], type], ...] = (
    ("state_slots", re.compile(r"max_mamba_cache_size: (\d[\d,]{0,23})"), int),
    ("conv_state_gib", re.compile(rf"(?<!_)conv_state size: {_SIZE} ?GB"), float),
    ("ssm_state_gib", re.compile(rf"(?<!intermediate_)ssm_state size: {_SIZE} ?GB"), float),
    ("intermediate_ssm_gib", re.compile(rf"intermediate_ssm_state_cache size: {_SIZE} ?GB"), float),
    ("intermediate_conv_gib", re.compile(rf"intermediate_conv_window_cache size: {_SIZE} ?GB"), float),
    ("engine_version", re.compile(r"TensorRT-LLM version: ([\w.]+)"), str),
)


def vllm(text: str) -> ForeignLine | None:
    """A line of vLLM. Its KV cache size is derived and leaves out state pages, so nothing is divided by it."""
    if not _VLLM.search(text):
        return None
    return _line("vllm", text, _numbers(_VLLM_FIGURES, text))


def llama_cpp(text: str) -> ForeignLine | None:
    """A line of llama.cpp: one recurrent cell for each sequence."""
    if not _LLAMA.search(text):
        return None
    return _line("llama.cpp", text, {**dict(_numbers(_LLAMA_FIGURES, text)), **dict(_llama_pools(text))})


def tensorrt_llm(text: str) -> ForeignLine | None:
    """A line of TensorRT-LLM."""
    if not (_TRT_TAG.search(text) or _TRT_STATE.search(text)):
        return None
    return _line("tensorrt_llm", text, _numbers(_TRT_FIGURES, text))


FORMS: tuple[Callable[[str], ForeignLine | None], ...] = (tensorrt_llm, llama_cpp, vllm)
"""Every form, the most particular first."""


def _line(engine: str, text: str, figures: dict[str, int | float | str]) -> ForeignLine:
    return ForeignLine(engine=engine, figures=figures, text=text[:TEXT_CHARS])


def _numbers(patterns: tuple[tuple[str, re.Pattern[str], type], ...], text: str) -> dict[str, int | float | str]:
    found: dict[str, int | float | str] = {}
    for name, pattern, kind in patterns:
        match = pattern.search(text)
        if match:
            found[name] = kind(match[1].replace(",", ""))
    return found


def _llama_pools(text: str) -> Iterator[tuple[str, int | float]]:
    kv = _LLAMA_KV.search(text)
    if kv:
        yield "kv_mib", float(kv[1])
        yield "kv_cells", int(kv[2])
        yield "kv_layers", int(kv[3])
        if int(kv[2]):
            yield "kv_kib_per_cell", float(kv[1]) * 1024 / int(kv[2])
    state = _LLAMA_STATE.search(text)
    if state and int(state[2]):
        cells = int(state[2])
        yield "state_mib", float(state[1])
        yield "state_cells", cells
        yield "state_layers", int(state[3])
        yield "mib_per_sequence", float(state[1]) / cells
        yield "conv_mib_per_sequence", float(state[4]) / cells
        yield "ssm_mib_per_sequence", float(state[5]) / cells
