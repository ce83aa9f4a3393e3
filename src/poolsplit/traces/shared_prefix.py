"""A generated shared prefix: the arguments of the benchmark that makes it, as a file, instead of its prompts.

Either a JSON object with the argument names (`gsp_num_groups`, ...) or the command line's own text
(`--gsp-num-groups 64 --gsp-prompts-per-group 16 ...`). Every group has one system prompt; every prompt is that and a
question of its own, and with `gsp_num_turns` above 1 further questions, each behind everything said before.

With `gsp_group_distribution` `zipf` each prompt draws its group with weight 1 / rank^alpha from an own generator; else
each group has the same number of prompts. Lengths are drawn evenly from `range_ratio` x length to length. Prompts come
shuffled unless `gsp_ordered`. The numbers drawn are ours: shares and lengths agree with the benchmark's, rows do not.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np

from poolsplit.errors import TraceFormatError
from poolsplit.traces.reading import UNREADABLE
from poolsplit.traces.token_tree import TokenTree
from poolsplit.traces.trace import Origin
from poolsplit.traces.tree_trace import TreeTrace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.traces.reading import ReadOptions
    from poolsplit.traces.sources import Source
    from poolsplit.traces.trace import Ints, Trace

_Count = Annotated[int, msgspec.Meta(ge=1, le=100_000_000)]
_MOST_REQUESTS = 50_000_000


class SharedPrefix(msgspec.Struct, kw_only=True, frozen=True):
    """The arguments, with the benchmark's defaults."""

    gsp_num_groups: _Count = 64
    gsp_prompts_per_group: _Count = 16
    gsp_system_prompt_len: _Count = 2048
    gsp_question_len: _Count = 128
    gsp_output_len: _Count = 256
    gsp_num_turns: _Count = 1
    gsp_range_ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0
    gsp_group_distribution: Literal["uniform", "zipf"] = "uniform"
    gsp_zipf_alpha: Annotated[float, msgspec.Meta(gt=0)] | None = None
    gsp_ordered: bool = False
    seed: int = 1


def read(sources: Iterable[Source], options: ReadOptions) -> Trace:
    """Reads one file of arguments and generates its requests.

    Raises:
        TraceFormatError: More than one file, or arguments that are not the benchmark's.
    """
    del options
    first, *more = sources
    if more:
        raise TraceFormatError("arguments are read from one file", hint="name that file alone", where=more[0].name)
    text = first.read().decode("utf-8", "replace").strip()
    if not text:
        raise TraceFormatError("there are no arguments", hint="is the file empty?", where=first.name)
    try:
        found = msgspec.json.decode(text) if text.startswith("{") else _from_command_line(text)
        arguments = msgspec.convert(found, SharedPrefix, strict=False)
        if (arguments.gsp_group_distribution == "zipf") != (arguments.gsp_zipf_alpha is not None):
            raise msgspec.ValidationError("zipf and its alpha come together - at `$.gsp_zipf_alpha`")
        requests = arguments.gsp_num_groups * arguments.gsp_prompts_per_group * arguments.gsp_num_turns
        if requests > _MOST_REQUESTS:
            raise msgspec.ValidationError(f"{requests} requests are too many")
    except (*UNREADABLE, ValueError) as error:
        raise TraceFormatError(str(error), hint="see docs/traces.md for the arguments", where=first.name) from None
    return generate(arguments)


def _from_command_line(text: str) -> dict[str, Any]:
    """Options of a command line as they would be in JSON; those that do not shape prompts are passed over."""
    values: dict[str, Any] = {}
    tokens = [part for token in shlex.split(text) for part in token.split("=", 1)]
    for place, token in enumerate(tokens):
        name = token.removeprefix("--").replace("-", "_")
        if token.startswith("--") and name in SharedPrefix.__struct_fields__:
            following = tokens[place + 1] if place + 1 < len(tokens) else "--"
            values[name] = True if following.startswith("--") else following
    return values


def generate(arguments: SharedPrefix) -> Trace:
    """The requests that the arguments describe; the same seed gives the same trace."""
    draw = np.random.default_rng(arguments.seed)
    slots = arguments.gsp_num_groups * arguments.gsp_prompts_per_group
    turns = arguments.gsp_num_turns
    systems = _lengths(draw, arguments.gsp_system_prompt_len, arguments, arguments.gsp_num_groups)
    questions = _lengths(draw, arguments.gsp_question_len, arguments, slots * turns).reshape(slots, turns)
    outputs = _lengths(draw, arguments.gsp_output_len, arguments, slots)
    groups = _groups(draw, arguments, slots)
    order = np.arange(slots) if arguments.gsp_ordered else draw.permutation(slots)
    trace = TreeTrace(TokenTree())
    for session, slot in enumerate(order.tolist()):
        group, answer = int(groups[slot]), int(outputs[slot])
        leaf, before = -1, -1
        for turn, question in enumerate(questions[slot].tolist()):
            opening = [(("group", group), int(systems[group]))] if turn == 0 else [(("answer", slot, turn), answer)]
            row = len(trace)
            pieces = [*opening, (("question", slot, turn), question)]
            leaf = trace.add(pieces, behind=leaf, session=session, after=before, output_tokens=answer)
            before = row
    return trace.trace(
        Origin(format="shared-prefix", dialect=arguments.gsp_group_distribution, clock="order", sessions_known=True)
    )


def _lengths(draw: np.random.Generator, full: int, arguments: SharedPrefix, count: int) -> Ints:
    return draw.integers(max(int(full * arguments.gsp_range_ratio), 1), full, size=count, endpoint=True)


def _groups(draw: np.random.Generator, arguments: SharedPrefix, slots: int) -> Ints:
    if arguments.gsp_zipf_alpha is None:
        return np.repeat(np.arange(arguments.gsp_num_groups), arguments.gsp_prompts_per_group)
    weights = np.arange(1, arguments.gsp_num_groups + 1) ** -arguments.gsp_zipf_alpha
    return draw.choice(arguments.gsp_num_groups, size=slots, p=weights / weights.sum())
