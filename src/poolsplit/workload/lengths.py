"""Request lengths as a distribution: never only a mean, because a pool overflows by the tail."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from poolsplit.errors import InputError
from poolsplit.units import align_up, parse_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PERCENTILE_STEPS = 64
"""Equal shares that a span between two given percentiles is cut into."""
_WHOLE = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthMix:
    """How long requests are at their end: input and output together, each with its share."""

    points: tuple[tuple[int, float], ...]
    """Tokens and share, shortest first; the shares add up to 1."""
    origin: str
    """length, pairs, file, percentiles or trace."""
    input_tokens_mean: float | None = None
    """Mean input alone; None when only totals are known."""

    @property
    def mean_tokens(self) -> float:
        """Mean length."""
        return sum(tokens * share for tokens, share in self.points)

    @property
    def is_single(self) -> bool:
        """Whether every request has the same length."""
        return len(self.points) == 1

    @property
    def longest_tokens(self) -> int:
        """Longest request."""
        return self.points[-1][0]

    def quantile_tokens(self, fraction: float) -> int:
        """Smallest length that at least this fraction of the requests does not exceed."""
        total = 0.0
        for tokens, share in self.points:
            total += share
            if total >= fraction - 1e-12:
                return tokens
        return self.longest_tokens

    def paged(self, page_tokens: int) -> LengthMix:
        """The same mix with every length rounded up to whole pages, as the pool hands them out."""
        if page_tokens <= 1:
            return self
        return mix_of(((align_up(tokens, page_tokens), share) for tokens, share in self.points), origin=self.origin)


def single_length(tokens: int, *, origin: str = "length", input_tokens: int | None = None) -> LengthMix:
    """Every request this long.

    Raises:
        InputError: Not a positive length.
    """
    return mix_of([(tokens, 1.0)], origin=origin, input_tokens_mean=input_tokens)


def mix_of(points: Iterable[tuple[int, float]], *, origin: str, input_tokens_mean: float | None = None) -> LengthMix:
    """A mix from lengths and weights of any sum.

    Raises:
        InputError: No request, or a length below one token.
    """
    merged: dict[int, float] = {}
    for tokens, weight in points:
        if tokens < 1:
            raise InputError(f"a request of {tokens} tokens has nothing to keep", hint="lengths start at 1 token")
        merged[tokens] = merged.get(tokens, 0.0) + weight
    total = sum(merged.values())
    if total <= 0:
        raise InputError("there is no request in the lengths", hint="give one total length a line, or input,output")
    ordered = sorted(merged.items())
    shares = tuple((tokens, weight / total) for tokens, weight in ordered if weight > 0)
    return LengthMix(points=shares, origin=origin, input_tokens_mean=input_tokens_mean)


def read_percentiles(text: str) -> LengthMix:
    """A mix from `p50=2k,p90=32k,p99=128k`: lengths rise in a straight line between the given percentiles.

    Below the first percentile every request has its length, above the last one too: nothing is made up outside.

    Raises:
        InputError: Not percentiles, or lengths that fall.
    """
    pairs = sorted(_percentile(item) for item in text.split(",") if item.strip())
    if not pairs:
        raise InputError("no percentile is given", hint="write `p50=2k,p90=32k,p99=128k`")
    if any(low[0] == high[0] or low[1] > high[1] for low, high in pairwise(pairs)):
        raise InputError(f"the percentiles `{text}` do not rise", hint="each one once, lengths rising with them")
    points: list[tuple[int, float]] = [(pairs[0][1], pairs[0][0])]
    for (low, short), (high, long) in pairwise(pairs):
        step = (high - low) / PERCENTILE_STEPS
        points.extend(
            (round(short + (long - short) * (at + 0.5) / PERCENTILE_STEPS), step) for at in range(PERCENTILE_STEPS)
        )
    points.append((pairs[-1][1], _WHOLE - pairs[-1][0]))
    return mix_of(points, origin="percentiles")


def read_length_lines(lines: Sequence[str]) -> LengthMix:
    """A mix from a file: one total length a line, or `input,output`; a first line of words is a heading.

    Raises:
        InputError: A line that is neither; `where` names it.
    """
    totals: dict[int, float] = {}
    inputs: list[int] = []
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.split(",")]
        if not any(cells) or (number == 1 and any(cell[:1].isalpha() for cell in cells)):
            continue
        counts = _counts(cells, number)
        totals[sum(counts)] = totals.get(sum(counts), 0.0) + 1.0
        if len(counts) > 1:
            inputs.append(counts[0])
    mean_input = sum(inputs) / len(inputs) if inputs else None
    return mix_of(totals.items(), origin="file", input_tokens_mean=mean_input)


def _counts(cells: list[str], number: int) -> list[int]:
    if len(cells) > 2:  # noqa: PLR2004 -- a pair
        raise InputError(
            "a line has more than two columns", where=f"line {number}", hint="one total a line, or input,output"
        )
    try:
        return [parse_count(cell) for cell in cells]
    except InputError as error:
        raise InputError(error.message, where=f"line {number}", hint=error.hint) from None


def _percentile(item: str) -> tuple[float, int]:
    name, equals, length = item.strip().partition("=")
    try:
        percent = float(name.removeprefix("p"))
    except ValueError:
        percent = -1.0
    if not (name.startswith("p") and equals and 0 <= percent <= _WHOLE):
        raise InputError(f"`{item}` is not a percentile", hint="write `p50=2k`: a percentile from p0 to p100, a length")
    return percent, parse_count(length)
