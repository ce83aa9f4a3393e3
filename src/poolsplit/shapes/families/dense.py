"""Models without a recurrent state that the solver may meet, as targets or as drafts: grouped attention everywhere.

A file that lists layer kinds may list full attention only.

Source: model configs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poolsplit.shapes.families.decoder import Decoder, grouped_attention, layer_count, split_by_list

if TYPE_CHECKING:
    from collections.abc import Mapping

    from poolsplit.shapes.families.decoder import Role
    from poolsplit.shapes.families.keys import ConfigKeys

_ROLES: Mapping[object, Role] = {"full_attention": "kv", "attention": "kv"}


def read(text: ConfigKeys, outer: ConfigKeys) -> Decoder:  # noqa: ARG001
    """The decoder by the family's keys."""
    layers = layer_count(text)
    split_by_list(text, "layer_types", _ROLES, layers=layers)
    return Decoder(
        family="dense",
        architecture="",
        layers=layers,
        state=None,
        state_layer_ids=(),
        attention=grouped_attention(text),
        kv_layer_ids=tuple(range(layers)),
        num_nextn_predict_layers=text.optional_integer("num_nextn_predict_layers"),
    )
