"""Numbers inside log text whose white space has been removed.

Without white space a line reads the same however it was wrapped, and `0.12GB`, `0.12 GB` and a size on the next line
are one form.
"""

from __future__ import annotations

import re

from poolsplit.engines.boot_facts import PrintedSize
from poolsplit.units import GIB

INTEGER = r"(-?\d{1,3}(?:,\d{3}){1,5}(?!\d)|-?\d{1,18}(?!\d))"
"""A whole number, with or without thousands commas; never longer than any count, so that no text takes long."""
SIZE = r"(-?\d{1,9}(?:\.\d{1,9})?)Gi?B"
"""A number of GiB; engines print them as GB."""

_SPACE = re.compile(r"\s+")


def squeeze(text: str) -> str:
    """The text without any white space."""
    return _SPACE.sub("", text)


def parse_integer(text: str) -> int:
    """A whole number with or without thousands commas."""
    return int(text.replace(",", ""))


def parse_size(text: str, unit_bytes: int = GIB) -> PrintedSize:
    """A printed size with the rounding step that its decimals tell."""
    decimals = len(text.partition(".")[2])
    return PrintedSize(value=float(text), step=10.0**-decimals, unit_bytes=unit_bytes)


def find_integer(pattern: re.Pattern[str], text: str) -> int | None:
    """The pattern's only group as a whole number, where it matches."""
    match = pattern.search(text)
    return parse_integer(match[1]) if match else None


def find_size(pattern: re.Pattern[str], text: str, unit_bytes: int = GIB) -> PrintedSize | None:
    """The pattern's only group as a printed size, where it matches."""
    match = pattern.search(text)
    return parse_size(match[1], unit_bytes) if match else None
