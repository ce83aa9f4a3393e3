"""What long work asks, by kind: the options of the command line's command, by name."""

from __future__ import annotations

from typing import Any, Literal

from poolsplit.web.asked import Words

Strategy = Literal["no_buffer", "extra_buffer", "extra_buffer_lazy"]
Order = Literal["order", "recorded", "closed"]
Plan = dict[str, Any]
"""A plan's whole document."""


class PageFile(Words, frozen=True, kw_only=True):
    """A file as the page names it."""

    upload: str | None = None
    sample: str | None = None


class JobFile(Words, frozen=True, kw_only=True):
    """A file as the process that works on it opens it."""

    path: str | None = None
    name: str = ""
    """As the page named it, for messages and documents."""
    size_bytes: int = 0
    sample: str | None = None


class ReadWords(Words, frozen=True, kw_only=True):
    """A log."""

    files: tuple[JobFile, ...]
    flags: str = ""
    launch: str = ""
    gpu: str | None = None


class ReadingWords(Words, frozen=True, kw_only=True):
    """How a trace is read; what is not said, its files say."""

    format: str | None = None
    dialect: str | None = None
    block_tokens: int | None = None
    time_unit: Literal["s", "ms", "us", "ns"] | None = None
    answer_tokens: int | None = None
    shared_ids: bool = False
    share_system: bool = False
    skip_bad: bool = False


class TraceWords(Words, frozen=True, kw_only=True):
    """A trace."""

    files: tuple[JobFile, ...]
    reading: ReadingWords = ReadingWords()


class CacheWords(Words, frozen=True, kw_only=True):
    """What decides which prefixes survive."""

    strategy: Strategy | None = None
    page_size: int | None = None
    chunked_prefill_size: str | None = None
    track_interval: str | None = None
    state_chunk: str | None = None
    max_states_per_path: int | None = None
    engine_version: str | None = None


class SplitWords(CacheWords, frozen=True, kw_only=True):
    """One split, and what survives in it."""

    plan: Plan | None = None
    state_slots: int | None = None
    kv_tokens: str | None = None
    max_running_requests: int | None = None


class PaceWords(Words, frozen=True, kw_only=True):
    """The clock of a replay."""

    mode: Order = "order"
    sessions: int = 1
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: str | None = None


class ReplayWords(TraceWords, frozen=True, kw_only=True):
    """A replay at one split."""

    split: SplitWords = SplitWords()
    pace: PaceWords = PaceWords()


class OrderWords(Words, frozen=True, kw_only=True):
    """In which order requests start and finish."""

    mode: Order = "order"
    sessions: int | None = None
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    longest_think: str | None = None


class BudgetWords(Words, frozen=True, kw_only=True):
    """Bytes that both pools share."""

    plan: Plan | None = None
    budget: str | None = None
    state_bytes: int | None = None
    kv_bytes: float | None = None


class SurfaceWords(TraceWords, frozen=True, kw_only=True):
    """Reuse at every split."""

    cache: CacheWords = CacheWords()
    order: OrderWords = OrderWords()
    budget: BudgetWords = BudgetWords()
    confirm: bool = True
    refine: bool = True


class WatchWords(Words, frozen=True, kw_only=True):
    """Servers to look at."""

    targets: tuple[str, ...]
    interval: str = "10s"
    window: str = "5m"
    plan: Plan | None = None
    looks: int | None = None
