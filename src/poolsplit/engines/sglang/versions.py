"""What differs between releases of the engine: one table of independent switches.

`switches_for("0.5.19")` gives every rule of a release at once; no other module compares version numbers.
Source: the per-release table of the start-up solver, seen by running each wheel; held by the golden answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from poolsplit.errors import InputError

DEFAULT_VERSION = "0.5.23"

_KDA_WITH_BAILING = frozenset(
    {
        "KimiLinearForCausalLM",
        "KimiK3ForConditionalGeneration",
        "BailingMoeV3ForCausalLM",
        "BailingMoeV3VLForConditionalGeneration",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """Every rule that some release between 0.5.16 and 0.5.23 has differently. Defaults are those of 0.5.16."""

    version: str

    # The state pool
    padding_slot: bool = False
    """One slot and one verify request more are charged."""
    charge_widest_stage: bool = False
    """Under pipeline parallelism a slot costs the widest stage's layers, not the whole model's."""
    honours_skip_decode_lock: bool = False
    warns_state_cap: bool = False
    replay_spec_priced: bool = False
    """Replay verification replaces the verify scratch and its rings are charged."""
    replay_gdn_fixed_ring: bool = False
    """GDN rings are a fixed term per running request; before, one per slot."""
    replay_gdn_new_bytes: bool = False
    """Bytes of a GDN ring: two copies of values and keys, one gate row."""
    replay_gdn_ring_is_cache_len: bool = False
    """The GDN ring is as long as the cache length; before, as the draft tokens."""
    replay_kda_families: frozenset[str] = frozenset()
    """Architectures with KDA layers whose replay ring is charged."""
    prices_extra_slot_bytes: bool = False
    prefill_skips_verify_scratch: bool = False
    at_least_one_request_per_dp: bool = False
    """R // dp is floored at 1."""

    # The KV pool
    dcp_shrinks_heads: bool = False
    """KV heads per rank are counted over attention TP // DCP; before, over attention TP."""
    dflash_draft_kv: Literal["scaled", "scaled_dcp", "own"] = "scaled"
    draft_kv_added: bool = False
    """EAGLE drafts add int(cell * d / L); before, the cell becomes int(cell * (1 + d / L))."""
    handles_no_attention_stage: bool = False
    own_mtp_path_counts_one_layer: bool = False
    """Qwen3.5's own MTP layers, named as draft path, count 1 layer; before, all of the target's."""
    nemotron_own_mtp_priced: bool = False
    """Nemotron-H without a draft path prices its own MTP layers."""
    index_keys_times_dcp: bool = False
    unified_prices_state: bool = False
    kv_sharding_scratch: bool = False
    unified_records_bytes: bool = False
    fp4_by_recipe: bool = False
    reads_bailing_kda: bool = False
    """Bailing V3's recurrent layers are read as what they are; before, as lightning layers."""
    window_layers_by_stage: bool = False
    """Window and full layers of a model with both are counted per pipeline stage; before, over the whole model."""
    window_share_per_layer: bool = True
    """The window ratio multiplies the bytes of one layer before the layers: the last bit of the float row."""
    window_unified_search: Literal["never", "with_draft", "always"] = "never"
    """When the pools of a windowed model under unified memory are found by search and not by division."""
    window_draft_in_cap: bool = False
    """A capped window pool leaves room for a draft's own KV rows."""
    pp_refuses_mtp: bool = True
    """A model with MTP layers is refused under pipeline parallelism with speculation, inside the runner."""

    # The default memory fraction
    reserves_multimodal: bool = False
    small_card_doubled: bool = False
    """Cards of 20 to 35 GiB: prefill chunk 4096 and graph sizes 48 / 160; before 2048 and 24 / 80."""
    decode_graph_capped_at_requests: bool = False
    vision_factor_on_pd_decode: bool = True

    warning: str | None = None
    """Set when the asked-for release is outside the table."""


_CHANGES: dict[str, dict[str, Any]] = {
    "0.5.16": {},
    "0.5.17": {
        "padding_slot": True,
        "charge_widest_stage": True,
        "honours_skip_decode_lock": True,
        "warns_state_cap": True,
        "replay_spec_priced": True,
        "replay_kda_families": frozenset({"KimiLinearForCausalLM", "KimiK3ForConditionalGeneration"}),
        "dflash_draft_kv": "scaled_dcp",
        "handles_no_attention_stage": True,
        "vision_factor_on_pd_decode": False,
    },
    "0.5.18": {
        "reserves_multimodal": True,
        "dcp_shrinks_heads": True,
        "dflash_draft_kv": "own",
        "own_mtp_path_counts_one_layer": True,
    },
    "0.5.19": {
        "replay_kda_families": _KDA_WITH_BAILING,
        "unified_records_bytes": True,
        "reads_bailing_kda": True,
    },
    "0.5.20": {
        "replay_gdn_fixed_ring": True,
        "replay_gdn_new_bytes": True,
        "replay_gdn_ring_is_cache_len": True,
        "nemotron_own_mtp_priced": True,
        "small_card_doubled": True,
        "window_unified_search": "with_draft",
    },
    "0.5.21": {
        "replay_kda_families": _KDA_WITH_BAILING | {"Glm5NextForConditionalGeneration"},
        "fp4_by_recipe": True,
        "window_layers_by_stage": True,
        "window_unified_search": "always",
        "pp_refuses_mtp": False,
    },
    "0.5.22": {
        "prices_extra_slot_bytes": True,
        "prefill_skips_verify_scratch": True,
        "draft_kv_added": True,
        "window_share_per_layer": False,
        "index_keys_times_dcp": True,
        "kv_sharding_scratch": True,
        "decode_graph_capped_at_requests": True,
    },
    "0.5.23": {
        "at_least_one_request_per_dp": True,
        "unified_prices_state": True,
        "window_draft_in_cap": True,
    },
}
"""What each release changed, on top of the one before."""


def _build_table() -> dict[str, Switches]:
    table, rules = {}, {}
    for version, changes in _CHANGES.items():
        rules.update(changes)
        table[version] = Switches(version=version, **rules)
    return table


TABLE: dict[str, Switches] = _build_table()
VERSIONS = tuple(TABLE)


def _release_number(version: str) -> tuple[int, ...]:
    """The numbers of a release name, without a suffix such as `.post1` or `rc2`."""
    numbers = []
    for part in version.strip().removeprefix("v").split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    if not numbers:
        raise InputError(
            f"`{version}` is not a release number",
            hint=f"write one of {VERSIONS[0]} to {VERSIONS[-1]}",
            where="--engine-version",
        )
    return tuple(numbers)


@lru_cache(maxsize=64)
def switches_for(version: str = DEFAULT_VERSION) -> Switches:
    """The rules of one release; outside the table the nearest release answers, with a warning.

    Raises:
        InputError: Not a release number.
    """
    if version in TABLE:
        return TABLE[version]
    asked = _release_number(version)
    known = {_release_number(name): name for name in VERSIONS}
    below = [number for number in known if number <= asked]
    nearest = known[max(below)] if below else VERSIONS[0]
    warning = (
        f"release {version} is outside the known ones ({VERSIONS[0]} to {VERSIONS[-1]}): the rules of {nearest} answer"
    )
    return replace(TABLE[nearest], warning=warning)
