"""Types of the generators' parameters: what each may be at all, so that no number overflows and no loop runs away."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Count = Annotated[int, Meta(ge=1, le=100_000_000)]
"""A number of requests, documents, tokens of a block ..."""
Length = Annotated[int, Meta(ge=0, le=100_000_000)]
"""A number of tokens."""
Median = Annotated[float, Meta(ge=1, le=10_000_000)]
"""A typical number of tokens."""
Mean = Annotated[float, Meta(ge=1, le=1_000_000)]
"""A mean number of things of which there is at least one."""
Sigma = Annotated[float, Meta(ge=0, le=4)]
"""Spread of a lognormal distribution."""
Alpha = Annotated[float, Meta(ge=0, le=20)]
"""Exponent of a Zipf distribution."""
Fraction = Annotated[float, Meta(ge=0, le=1)]
"""A share of a whole."""
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
"""A time."""
Span = Annotated[float, Meta(gt=0, le=1e9)]
"""A time that is not nothing."""
Cap = Annotated[float, Meta(ge=0)]
"""An upper bound of a time; infinity is none."""
Rate = Annotated[float, Meta(ge=0.001, le=1e9)]
"""Tokens a second."""
