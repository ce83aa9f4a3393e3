"""Models and cards as JSON documents and as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from poolsplit.derivation import step_documents
from poolsplit.report.columns import columns
from poolsplit.shapes.card import steps
from poolsplit.units import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.data import Gpu
    from poolsplit.shapes.card import ModelCard

NO_CONTEXT = "the config states no context length"
NO_PROCESS_TOTAL = "no public measurement is known"
_SUMMARY = {"exact": "exact", "published": "published", "derived": "derived: partial facts"}


def models_document(cards: Sequence[ModelCard]) -> dict[str, Any]:
    """The answer of `poolsplit models`."""
    only = cards[0] if len(cards) == 1 else None
    return {
        "command": "models",
        "models": [model_document(card) for card in cards],
        "warnings": [f"{card.shape.name}: {card.shape.caution}" for card in cards if card.shape.caution],
        "derivation": step_documents(steps(only)) if only else [],
    }


def model_document(card: ModelCard) -> dict[str, Any]:
    """One model."""
    shape = card.shape
    document: dict[str, Any] = {
        "id": shape.name,
        "family": shape.family,
        "architecture": shape.architecture,
        "provenance": shape.provenance,
        "origin": card.origin,
        "source": shape.source,
        "caution": shape.caution or None,
        "layers": shape.layers,
        "state_layers": len(shape.state_layer_ids),
        "kv_layers": len(shape.kv_layer_ids),
        "window_layers": len(shape.window.layer_ids) if shape.window else 0,
        "state_kind": shape.state.kind if shape.state else None,
        "state_bytes_per_slot": card.state_bytes_per_slot,
        "state_dtype": card.state_dtype,
        "kv_bytes_per_token": card.kv_bytes_per_token,
        "kv_dtype": card.kv_dtype,
        "context_len": shape.context_len,
        "draft_layers": shape.draft_layers,
        "weights_bytes": card.weights_bytes,
        "ranks": [
            {
                "tp_size": rank.tp_size,
                "state_bytes_per_slot": rank.state_bytes_per_slot,
                "kv_bytes_per_token": rank.kv_bytes_per_token,
            }
            for rank in card.ranks
        ],
    }
    document["weights_source" if card.weights_bytes is not None else "weights_bytes_reason"] = card.weights_source
    if shape.context_len is None:
        document["context_len_reason"] = NO_CONTEXT
    return document


def models_text(cards: Sequence[ModelCard]) -> str:
    """The list of models for people."""
    header = ("model", "layers", "a slot", "B/token", "length", "known")
    rows = [
        (
            card.shape.name,
            f"{len(card.shape.state_layer_ids)} + {len(card.shape.kv_layer_ids)}",
            format_size(card.state_bytes_per_slot),
            f"{card.kv_bytes_per_token:,}",
            "?" if card.shape.context_len is None else _short_count(card.shape.context_len),
            card.shape.provenance,
        )
        for card in cards
    ]
    note = (
        "Layers: with recurrent state + with attention KV. Known: as exact or published facts, or derived from partial "
        "ones. Sizes are those of one rank at TP 1, without flags; `poolsplit models ID` shows other widths."
    )
    return f"{columns(header, rows, right=(1, 2, 3, 4))}\n\n{note}"


def _short_count(tokens: int) -> str:
    """A length as it is typed: `256k` where it is whole thousands of 1,024."""
    thousands, rest = divmod(tokens, 1024)
    return f"{tokens:,}" if rest else f"{thousands:,}k"


def model_text(card: ModelCard, *, explain: bool) -> str:
    """One model for people."""
    shape = card.shape
    context = NO_CONTEXT if shape.context_len is None else f"{shape.context_len:,} tokens"
    weights = card.weights_source
    if card.weights_bytes is not None:
        weights = f"{format_size(card.weights_bytes)} ({card.weights_source})"
    facts = [
        ("family", f"{shape.family}, {shape.architecture}"),
        ("layers", _layers_text(card)),
        ("a slot", f"{card.state_bytes_per_slot:,} B ({format_size(card.state_bytes_per_slot)}), {card.state_dtype}"),
        ("a token", f"{card.kv_bytes_per_token:,} B, {card.kv_dtype}"),
        ("context", context),
        ("weights", weights),
        ("known", _SUMMARY[shape.provenance]),
        ("source", shape.source),
    ]
    width = max(len(name) for name, _ in facts)
    lines = [shape.name, *(f"  {name.ljust(width)}  {value}" for name, value in facts), ""]
    rows = [(str(r.tp_size), f"{r.state_bytes_per_slot:,}", f"{r.kv_bytes_per_token:,}") for r in card.ranks]
    lines.append(columns(("TP", "bytes a slot", "bytes a token"), rows, right=(0, 1, 2)))
    if explain:
        listed = [(step.name, f"{step.value:,}", step.unit, step.source) for step in steps(card)]
        lines += ["", columns(("step", "value", "unit", "from"), listed, right=(1,))]
    return "\n".join(lines)


def gpus_document(cards: Sequence[Gpu]) -> dict[str, Any]:
    """The answer of `poolsplit gpus`."""
    return {
        "command": "gpus",
        "gpus": [_gpu_document(card) for card in cards],
        "warnings": [],
        "derivation": [],
    }


def gpus_text(cards: Sequence[Gpu]) -> str:
    """The list of cards for people."""
    header = ("card", "name", "chip", "driver MiB", "process GiB", "answers")
    rows = [
        (
            card.id,
            card.name,
            card.chip,
            f"{card.memory_mib:,}",
            "?" if card.process_total_gib is None else f"{card.process_total_gib:.2f}",
            "verified" if card.verified else "not verified",
        )
        for card in cards
    ]
    return columns(header, rows, right=(3, 4))


def _gpu_document(card: Gpu) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": card.id,
        "name": card.name,
        "aliases": list(card.aliases),
        "architecture": card.architecture,
        "chip": card.chip,
        "compute_capability": None if card.compute_capability is None else list(card.compute_capability),
        "memory_mib": card.memory_mib,
        "process_total_gib": card.process_total_gib,
        "verified": card.verified,
        "source": card.source,
        "note": card.note or None,
    }
    if card.process_total_gib is None:
        document["process_total_gib_reason"] = NO_PROCESS_TOTAL
    if card.compute_capability is None:
        document["compute_capability_reason"] = "the vendor numbers its chips otherwise"
    return document


def _layers_text(card: ModelCard) -> str:
    shape = card.shape
    parts = [f"{len(shape.state_layer_ids)} with a state" + (f" ({shape.state.kind})" if shape.state else "")]
    parts.append(f"{len(shape.kv_layer_ids)} with KV rows")
    if shape.window:
        parts.append(f"{len(shape.window.layer_ids)} with a window of {shape.window.window_tokens:,} tokens")
    return f"{shape.layers}: {', '.join(parts)}"
