"""Option groups of `poolsplit trace`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFlags:
    """How to read traces; what is not given, the files say."""

    format: str | None = None
    """Format instead of detecting it: pst, mooncake, weka, bailian, token-trace, agentic-trace, shared-prefix,
    tracelab, azure, burstgpt, sharegpt, openai."""
    dialect: str | None = None
    """Reading of a format that has several: `full` or `incremental` (mooncake), `relative` or `absolute` (weka)."""
    block_tokens: int | None = None
    """Tokens of one block, where the file does not say."""
    time_unit: Literal["s", "ms", "us", "ns"] | None = None
    """Unit of timestamps, where it cannot be told from them."""
    tokenizer: str | None = None
    """A model's `tokenizer.json` for formats of text; without it lengths are estimated from bytes, and said to be."""
    answer_tokens: int | None = None
    """Length of an answer, for formats that do not record it."""
    shared_ids: Annotated[bool, Parameter(negative="")] = False
    """Ids of several files mean the same blocks; otherwise no two files share anything."""
    share_system: Annotated[bool, Parameter(negative="")] = False
    """Sessions with equally long tool and system prompts share them (weka)."""
    skip_bad: Annotated[bool, Parameter(negative="")] = False
    """Leave bad lines out and count them, instead of stopping at the first."""

    def given(self) -> dict[str, Any]:
        """The options by name."""
        return asdict(self)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class CutFlags:
    """How recorded texts become tokens and blocks."""

    tokenizer: str | None = None
    """The model's `tokenizer.json`; without it block boundaries are estimated from bytes."""
    bytes_per_token: float | None = None
    """Bytes of a token for that estimate, told from the log by default. Give it to join recordings."""
    answer_tokens: int | None = None
    """Length of an answer, where the log does not say."""
    skip_bad: Annotated[bool, Parameter(negative="")] = False
    """Leave bad lines out and count them, instead of stopping at the first."""

    def given(self) -> dict[str, Any]:
        """The options by name."""
        return asdict(self)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFlags:
    """Where a trace is written and as what."""

    output: Annotated[str, Parameter(name=["--output-file", "-o"])] = "-"
    """File to write; `-` is standard output; a name in .gz is compressed."""
    json: Annotated[bool, Parameter(negative="")] = False
    """One JSON object on what was written, on standard output; needs a file."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False
    """No word on what was written or lost."""
    no_color: Annotated[bool, Parameter(negative="")] = False
    """Plain text; this command prints nothing else."""
