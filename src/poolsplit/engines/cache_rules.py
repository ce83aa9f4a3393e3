"""The law of a prefix cache over two pools, as a declared input: what differs between engines and releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Evidence = Literal["run", "read", "documentation"]
"""`run`: held to the real engine. `read`: from its source. `documentation`: announced, in no release seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """What one release of an engine does with its prefix tree, its two pools and its queue.

    A replay names the rules that it used, with their evidence.
    """

    engine: str
    """Engine whose law this is."""
    version: str
    """Release, or a name for a law that no release has yet."""
    evidence: Evidence
    """How far the rules can be trusted."""
    grid_joins_pages: bool
    """Checkpoint grid is the least common multiple of state chunk and page (else the larger of the two)."""
    path_cap: bool
    """The cap on states a path exists."""
    decode_lock_option: bool
    """The option that leaves a request's own state evictable while it decodes exists."""
    bare_node_locks: bool
    """A state lock on a node without a state counts: the node is no leaf, and a state put there is protected."""
    lazy_lock_release: bool
    """A lazy request that finds no free slot lets go of its own state before one is evicted."""
    refreshes_whole_path: bool
    """A lookup makes every state of the matched path recent, and not only the one it uses."""
    host_tier: bool
    """What the host tier copies, loads and drops is known for this release."""
    unified_memory: bool
    """How unified memory gives and takes is known for this release."""
    sparse_checkpoints: bool
    """States are kept only where prompts diverge and where requests end."""
    slots_beside_tracking: int
    """Slots set aside for each running request before its tracking slots."""
    decode_clip_tokens: int
    """Most output tokens that admission reserves for one request."""
    retract_free_tokens: int
    """Tokens a remaining request that a retraction leaves free."""
    new_token_ratio: float
    """Share of the outputs still to come that admission reserves at the start."""
    new_token_floor_ratio: float
    """Floor of that share, as a part of its start."""
    new_token_decay_steps: int
    """Decode steps from the start to the floor."""
    refresh_every_passes: int
    """Prefill passes between two refreshes of the waiting requests' prefixes."""
    refresh_requests: int
    """Waiting requests that one refresh looks up; a longer queue is not put in longest-match order."""
    shared_head_tokens: int
    """Leading tokens in common that make a waiting request wait for an earlier one under longest-match order."""
    input_margin_tokens: int
    """Tokens by which an input must stay below the longest request."""
