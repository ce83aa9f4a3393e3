"""Units: sizes, lengths and integer rounding, in one place.

Bytes, tokens, slots and pages are whole numbers everywhere. `80GiB` (2^30) and `80GB` (10^9) are different sizes; a
size without a unit is refused, because an engine prints 2^30 bytes as "GB" and a guess would be wrong by 7 %.
"""

from __future__ import annotations

import re

from poolsplit.errors import InputError

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
TIB = 1 << 40

_SIZE_UNITS = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
}
_WHOLE, _PART = r"\d{1,40}", r"\.\d{1,100}"
"""Digits that a size or count may have: more is no memory that a machine holds, and Python reads 4,300 at most."""
_SIZE = re.compile(rf"(?P<number>{_WHOLE}(?:{_PART})?|{_PART})\s*(?P<unit>[a-z]*)", re.IGNORECASE | re.ASCII)
_COUNT = re.compile(rf"(?P<number>{_WHOLE}(?:{_PART})?)(?P<unit>[km]?)", re.IGNORECASE | re.ASCII)
_DURATION = re.compile(rf"(?P<number>{_WHOLE}(?:{_PART})?|{_PART})\s*(?P<unit>(?:ms|s|m|h)?)", re.IGNORECASE | re.ASCII)
_SHOWN = 60
"""Characters of a value that a message repeats."""
_DURATION_UNITS = {"": 1.0, "s": 1.0, "ms": 0.001, "m": 60.0, "h": 3600.0}
_COUNT_UNITS = {"": 1, "k": KIB, "m": MIB}


def parse_size(text: str) -> int:
    """Bytes in a size such as `80GiB`, `80GB` or `512 MiB`, rounded down to a whole byte.

    Raises:
        InputError: Not a size, or a number without a unit.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"`{_shown(text)}` is not a size", hint="write a number and a unit, such as `80GiB` or `80GB`")
    unit = match["unit"].lower()
    if unit not in _SIZE_UNITS:
        what = "has no unit" if not unit else f"has an unknown unit `{match['unit']}`"
        raise InputError(
            f"the size `{text}` {what}",
            hint="`GiB` is 2^30 bytes, `GB` is 10^9 bytes; engines print GiB as `GB`",
        )
    size, _ = _scaled(match["number"], _SIZE_UNITS[unit])
    return size


def _shown(text: str) -> str:
    """What was written, cut where it would fill the line."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _scaled(number: str, scale: int) -> tuple[int, int]:
    """A decimal number times a whole scale, exactly: the whole part, and what is left over (0 for a whole product)."""
    whole, _, part = number.partition(".")
    shift: int = 10 ** len(part)
    return divmod(int(whole + part or "0") * scale, shift)


def parse_count(text: str) -> int:
    """Whole number in a count or length such as `9216`, `32k` (32,768) or `1m` (1,048,576).

    Raises:
        InputError: Not a count, or not a whole one.
    """
    match = _COUNT.fullmatch(text.strip().replace(",", "").replace("_", ""))
    if match is not None:
        count, remainder = _scaled(match["number"], _COUNT_UNITS[match["unit"].lower()])
        if remainder == 0:
            return count
    raise InputError(
        f"`{_shown(text)}` is not a whole number of tokens", hint="write `9216`, `32k` (32,768) or `1m` (1,048,576)"
    )


def parse_duration(text: str) -> float:
    """Seconds in a duration such as `10s`, `500ms`, `5m` or `1h`; a number alone is seconds.

    Raises:
        InputError: Not a duration, or not above zero.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match["number"]) * _DURATION_UNITS[match["unit"].lower()] if match is not None else 0.0
    if seconds <= 0:
        raise InputError(f"`{_shown(text)}` is not a duration", hint="write `10s`, `500ms`, `5m` or `1h`")
    return seconds


def format_size(size_bytes: int) -> str:
    """A size for people, in binary units with two decimals: `28.53 GiB`, `512 B`."""
    for unit, scale in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if abs(size_bytes) >= scale:
            return f"{size_bytes / scale:.2f} {unit}"
    return f"{size_bytes} B"


def ceil_div(numerator: int, denominator: int) -> int:
    """Smallest whole number not below `numerator / denominator`."""
    return -(-numerator // denominator)


def align_down(value: int, step: int) -> int:
    """Largest multiple of `step` not above `value`."""
    return value // step * step


def align_up(value: int, step: int) -> int:
    """Smallest multiple of `step` not below `value`."""
    return ceil_div(value, step) * step
