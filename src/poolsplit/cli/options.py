"""Option groups that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where the answer goes and in which form."""

    json: Annotated[bool, Parameter(negative="")] = False
    """One JSON object instead of text."""
    explain: Annotated[bool, Parameter(negative="")] = False
    """Add the derivation: every step with value, unit and source."""
    output: Annotated[str | None, Parameter(name=["--output-file", "-o"])] = None
    """Write to this file instead of stdout; it is complete or not there at all."""
    no_color: Annotated[bool, Parameter(negative="")] = False
    """Plain text, as with the variable NO_COLOR."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False
    """No progress and no warnings on stderr."""
