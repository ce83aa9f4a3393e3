"""The internal form of a request trace: one frozen value over numpy columns, one row a request.

Prompts are never spelled out. The blocks of all prompts of one scope form a prefix tree, and a row says where its
prompt leaves the tree that the rows before it have built:

    path(i) = path(parent[i])[: kept_blocks[i]]  +  range(first_block[i], first_block[i] + new_blocks[i])

So a row costs three integers however long its prompt is, and the new blocks of a row are always one range.
What a consumer may rely on (`checks.py` proves it for every trace that a reader returns):

1.  *Chained.* A block id stands for one block **and everything before it**: equal ids, equal prefixes. Ids are dense
    and numbered by first appearance: `first_block[i]` is the sum of `new_blocks` before row i.
2.  *Longest match.* `kept_blocks[i]` is the longest prefix that row i shares with **any** earlier row of its scope. An
    unlimited cache of prompts therefore reuses exactly `min(kept_blocks[i] * block_tokens, input_tokens[i])` tokens.
3.  *Tight parent.* When `kept_blocks[i] > 0`, the last kept block is one of the parent's **own new** blocks:
    `kept_blocks[p] < kept_blocks[i] <= kept_blocks[p] + new_blocks[p]` for `p = parent[i]`, and `p < i`. So rows with
    their ranges are the edges of the prefix tree, `parent` is the tree, and a walk to the root visits each range once.
    When `kept_blocks[i] == 0`, `parent[i] == -1`. Parents never cross scopes.
4.  *Whole prompt.* `input_tokens[i]` is the whole prompt, never an increment. The path covers
    `min(blocks * block_tokens, input_tokens)` tokens of it: the last block may be partial (blocks * block_tokens >
    input_tokens), and tokens past the last block carry no id and are shared with nobody.
5.  *Order.* Rows of one scope stand in time order. With `clock == "trace"` all rows do: `arrival_s` never falls.

Output tokens carry no ids of their own. A conversation sends them back: when `previous[j] == i` and j begins with the
whole prompt of i, the blocks of j that follow the first `input_tokens[i]` tokens begin with the output of i, as far as
j sends it back.

Three relations, three columns: `parent` says which prompt bytes are shared; `previous` which request came before in the
same conversation (a session's main line, or one of its subagents); `after` which request the client waited for before
it sent this one (-1: none). The last two differ where a turn waits for a subagent and where a subagent begins. In a
closed loop row j starts `think_s[j]` seconds after row `after[j]` has ended; a row with `after` -1 starts its session.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from poolsplit.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Clock = Literal["trace", "session", "order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a trace came from and how far its figures can be trusted."""

    format: str
    """Format that was read or the generator that made it, such as `mooncake` or `synth:agent`."""
    dialect: str
    """How the format was read, such as `full` or `incremental`; the two are never mixed."""
    clock: Clock
    """`trace`: one clock for all rows. `session`: each session starts at its own zero. `order`: only an order."""
    sessions_known: bool
    """False when the source does not say which requests belong together; then each row is its own session."""
    lengths: Literal["exact", "estimated"] = "exact"
    """`estimated` when token counts were derived from byte counts."""
    notes: tuple[str, ...] = ()
    """What a reader had to decide or leave out, one sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Requests with their prompts as ranges in a prefix tree; see the module text for the five guarantees.

    Shapes:
        every array: (requests,), int64 or float64, read-only
    """

    origin: Origin
    """Source, dialect and clock."""
    block_tokens: int | None
    """Tokens of one block; None when the trace has lengths only, and then nothing is known about sharing."""
    session_names: tuple[str, ...]
    """Name of each session by its index; empty when the source has none."""
    arrival_s: Floats
    """Seconds at which the request was sent, on the clock that `origin.clock` names; NaN with clock `order`."""
    session: Ints
    """Index of the session, dense from 0."""
    scope: Ints
    """Index of the space of block ids, dense from 0; prompts of two scopes share nothing."""
    agent: Ints
    """0 for the main conversation of a session, k for its k-th subagent."""
    parent: Ints
    """Row whose prompt holds the kept blocks; -1 when nothing is kept."""
    kept_blocks: Ints
    """Leading blocks taken over from the path of `parent`."""
    new_blocks: Ints
    """Blocks that no earlier row of the scope has had behind this prefix."""
    after: Ints
    """Row whose answer the client waited for before sending this one; -1 when there is none."""
    input_tokens: Ints
    """Tokens of the whole prompt."""
    output_tokens: Ints
    """Tokens that were generated."""
    think_s: Floats
    """Seconds of the client between the end of `after` and this request; NaN when not recorded."""
    service_s: Floats
    """Seconds from the request to its last token as recorded; NaN when not recorded."""

    def __post_init__(self) -> None:
        for name in COLUMNS:
            column = getattr(self, name)
            if column.shape != self.arrival_s.shape:
                raise InputError(
                    f"the trace column `{name}` has another length than `arrival_s`",
                    hint="make the trace anew from its source",
                )
            column.setflags(write=False)

    def __len__(self) -> int:
        return int(self.arrival_s.size)

    @property
    def blocks(self) -> Ints:
        """Blocks of each prompt."""
        return self.kept_blocks + self.new_blocks

    @property
    def first_block(self) -> Ints:
        """Id of the first new block of each row; ids are dense in order of first appearance."""
        return np.cumsum(self.new_blocks) - self.new_blocks

    @property
    def previous(self) -> Ints:
        """Row before in the same conversation; -1 for its first.

        That is `after` where it belongs to the conversation (chats may branch), else the last row of the conversation.
        """
        waited = np.maximum(self.after, 0)
        own = (self.after >= 0) & (self.session[waited] == self.session) & (self.agent[waited] == self.agent)
        order = np.lexsort((np.arange(len(self)), self.agent, self.session))
        same = (np.diff(self.session[order]) == 0) & (np.diff(self.agent[order]) == 0)
        last = np.full(len(self), -1, dtype=np.int64)
        last[order[1:][same]] = order[:-1][same]
        return np.where(own, self.after, last)

    @property
    def sessions(self) -> int:
        """Number of sessions."""
        return int(self.session.max()) + 1 if len(self) else 0

    def require_blocks(self, wanted: str) -> int:
        """Tokens of one block, for an answer that needs to know which prompts share a prefix.

        Raises:
            InputError: The trace has lengths only.
        """
        if self.block_tokens is None:
            raise InputError(
                f"{wanted} needs prompts with block ids, and this {self.origin.format} trace has lengths only",
                hint="record block hashes of your own traffic with `poolsplit trace record`, or use a trace with ids",
            )
        return self.block_tokens

    def require_clock(self, wanted: str) -> None:
        """Check that arrival times of different sessions can be compared.

        Raises:
            InputError: Each session has its own zero, or there are no times at all.
        """
        if self.origin.clock != "trace":
            raise InputError(
                f"{wanted} needs arrival times on one clock, and this {self.origin.format} trace has "
                + ("a clock for each session" if self.origin.clock == "session" else "an order and no times"),
                hint="replay it as a closed loop of sessions, or in order",
            )


COLUMNS: tuple[str, ...] = tuple(f.name for f in fields(Trace) if f.type in {"Ints", "Floats"})
"""Names of the array fields of `Trace`, in order."""
