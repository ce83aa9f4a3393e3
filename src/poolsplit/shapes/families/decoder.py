"""What every family reader returns, and the layer lists that several of them share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from poolsplit.errors import UnsupportedModelError
from poolsplit.shapes.families.keys import MAX_LAYERS, ConfigKeys
from poolsplit.shapes.model_shape import FullAttention, LatentAttention

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from poolsplit.shapes.model_shape import StateLayer, VisionTower, WindowAttention

Role = Literal["state", "kv", "both", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """The decoder of one model as its family's keys describe it."""

    family: str
    architecture: str
    """Class that serves this family when the config names none."""
    layers: int
    state: StateLayer | None
    state_layer_ids: tuple[int, ...]
    attention: FullAttention | LatentAttention | None
    kv_layer_ids: tuple[int, ...]
    window: WindowAttention | None = None
    reads_state_dtype: bool = False
    """Whether `mamba_ssm_dtype` in the config decides the dtype of the recurrent state."""
    state_chunk_tokens: int | None = None
    num_nextn_predict_layers: int | None = None
    unnamed_draft_layers: int = 0
    """Draft layers that the family's checkpoints carry although their config does not name them."""
    context_len_default: int | None = None
    """Context of the config class when the file names none."""
    vision: VisionTower | None = None
    multimodal: bool = False
    extra: tuple[tuple[str, int | str | bool], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSplit:
    """Which layers keep a state and which keep KV rows."""

    layers: int
    state: tuple[int, ...]
    kv: tuple[int, ...]


def layer_count(text: ConfigKeys) -> int:
    """Decoder layers by `num_hidden_layers`."""
    layers = text.integer("num_hidden_layers")
    if layers > MAX_LAYERS:
        raise text.wrong("num_hidden_layers", layers, f"at most {MAX_LAYERS}")
    return layers


def split_by_kind(text: ConfigKeys, key: str, kinds: Sequence[object], roles: Mapping[object, Role]) -> LayerSplit:
    """Layers by a list with one kind a layer.

    Raises:
        UnsupportedModelError: A kind that the family does not know. It is never counted as attention.
    """
    if not 0 < len(kinds) <= MAX_LAYERS:
        raise text.wrong(key, kinds, f"a list of 1 to {MAX_LAYERS} layer kinds")
    state: list[int] = []
    kv: list[int] = []
    for number, kind in enumerate(kinds):
        role = roles.get(kind) if isinstance(kind, str | int) and not isinstance(kind, bool) else None
        if role is None:
            raise unknown_layer(text, f"{key}[{number}]", kind, roles)
        if role in {"state", "both"}:
            state.append(number)
        if role in {"kv", "both"}:
            kv.append(number)
    return LayerSplit(layers=len(kinds), state=tuple(state), kv=tuple(kv))


def split_by_list(text: ConfigKeys, key: str, roles: Mapping[object, Role], *, layers: int) -> LayerSplit | None:
    """As `split_by_kind` for the list under `key`, which must have one entry a layer; None when it is not there."""
    kinds = text.sequence(key)
    if kinds is None:
        return None
    if len(kinds) != layers:
        raise text.wrong(key, f"{len(kinds)} entries", f"one for each of the {layers} layers")
    return split_by_kind(text, key, kinds, roles)


def split_by_interval(layers: int, interval: int) -> LayerSplit:
    """Layer i keeps KV rows when i + 1 divides by the interval, else a state."""
    kv = tuple(range(interval - 1, layers, interval))
    return split_by_kv(layers, kv)


def split_by_kv(layers: int, kv: tuple[int, ...]) -> LayerSplit:
    """The named layers keep KV rows, all others a state."""
    held = frozenset(kv)
    return LayerSplit(layers=layers, state=tuple(i for i in range(layers) if i not in held), kv=kv)


def split_by_numbers(text: ConfigKeys, key: str, *, layers: int, named: str = "") -> LayerSplit:
    """The layers whose numbers stand under `key` keep KV rows, all others a state.

    Raises:
        UnsupportedModelError: The list is not there: `named`, or else the key, is what is missing.
    """
    kv = text.layer_numbers(key, layers=layers)
    if kv is None:
        raise text.missing(named or key)
    return split_by_kv(layers, kv)


def unknown_layer(text: ConfigKeys, key: str, kind: object, roles: Mapping[object, Role]) -> UnsupportedModelError:
    """The error for a layer kind that the family does not know."""
    known = ", ".join(f"`{name}`" for name in roles)
    return UnsupportedModelError(
        f"`{text.path}{key}` is {kind!r}, a layer kind that this family does not have",
        hint=f"known kinds: {known}; an unknown layer is never counted as attention",
        where=text.where,
    )


def grouped_attention(text: ConfigKeys, *, head_dim: int | None = None) -> FullAttention:
    """Grouped-query attention by the usual keys; the head width falls back to hidden size over heads.

    Raises:
        UnsupportedModelError: Heads or widths are missing.
    """
    heads = text.integer("num_attention_heads")
    width = head_dim or text.optional_integer("head_dim", minimum=1) or text.integer("hidden_size") // heads
    return FullAttention(
        kv_heads=text.integer("num_key_value_heads", default=heads),
        head_dim=width,
        v_head_dim=text.optional_integer("v_head_dim") or width,
    )


def latent_attention(text: ConfigKeys, *, rope_default: int | None = None) -> LatentAttention:
    """Latent attention by the usual keys."""
    return LatentAttention(
        kv_lora_rank=text.integer("kv_lora_rank"),
        qk_rope_head_dim=text.integer("qk_rope_head_dim", default=rope_default, minimum=0),
        heads=text.integer("num_key_value_heads", default=0, minimum=0),
    )
