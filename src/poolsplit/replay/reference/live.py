"""A request on its way through the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poolsplit.replay.arithmetic import NONE, new_tokens_asked
from poolsplit.replay.plan import planned_output
from poolsplit.replay.reference.tokens import Tokens

if TYPE_CHECKING:
    from poolsplit.replay.config import ReplayConfig
    from poolsplit.replay.reference.cache import Lock
    from poolsplit.replay.reference.tree import Node
    from poolsplit.replay.workload import Admission, Request


@dataclass(slots=True, eq=False)
class Live:
    """What the server knows about one request at this moment."""

    request: Request
    tokens: Tokens
    prompt: int
    final_outputs: int
    """Outputs at which it ends."""
    max_new: int
    """Length limit, clipped."""
    outputs: int = 0
    """Outputs whose step has been processed."""
    in_flight: int = 0
    """Launched steps of it whose results are not processed yet."""
    committed: int = 0
    """Tokens with KV."""
    prefix: int = 0
    """Start of the chunk being prefilled."""
    chunk_end: int = 0
    protected: int = 0
    """Tokens that the tree holds for it."""
    counted: int = 0
    """Tokens counted as hits."""
    match: Node | None = None
    """Where its reusable prefix ends on the device."""
    found: Node | None = None
    """Where it ends on either tier."""
    host_hit: int = 0
    """Tokens of its prefix that only the host holds."""
    lock: Lock | None = None
    holds_slot: bool = False
    tracking: int = 0
    """Tracking slots held."""
    last: int = NONE
    """Position of the latest snapshot."""
    previous: int = NONE
    branch: int = NONE
    prefill_batches: int = 0
    """Prefill batches since its last admission."""
    reopens: bool = True
    """Its next chunk begins a new admission record."""
    ended: bool = False
    aborted: bool = False
    retractions: int = 0
    admissions: list[Admission] = field(default_factory=list)

    @property
    def filled(self) -> int:
        """Tokens that a prefill has to cover."""
        return self.prompt + self.outputs

    @property
    def needs_load(self) -> bool:
        """KV or the state of its prefix is on the host alone."""
        return self.host_hit > 0 or self.found is not self.match

    @property
    def ends_by_length(self) -> bool:
        """Its next output is its last by the length limit."""
        return self.outputs + 1 >= self.max_new

    def reset_for_retraction(self) -> None:
        """Forgets everything but the generated tokens."""
        self.in_flight = self.committed = self.prefix = self.chunk_end = 0
        self.protected = self.counted = self.prefill_batches = self.tracking = 0
        self.match = self.found = self.lock = None
        self.host_hit = 0
        self.holds_slot = False
        self.last = self.previous = self.branch = NONE
        self.reopens = True
        self.retractions += 1


def arrive(request: Request, config: ReplayConfig) -> Live:
    """A request as the server takes it in, its length limit clipped to what the empty pool holds."""
    prompt = request.prompt_tokens
    max_new = new_tokens_asked(
        request.asked_tokens, prompt, config.request_limit_tokens, config.kv_tokens, config.page_tokens
    )
    output = planned_output(request, max_new)
    return Live(
        request=request,
        tokens=Tokens((*request.prompt, *output)),
        prompt=prompt,
        final_outputs=sum(count for _, count in output),
        max_new=max_new,
    )
