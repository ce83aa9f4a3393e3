"""Facts of one kind among those that a start's lines gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poolsplit.engines.boot_facts import Fact
    from poolsplit.engines.sglang.boot_log.tally import Tally

_F = TypeVar("_F")


def all_of(found: Iterable[Fact | Tally], kind: type[_F]) -> list[_F]:
    """Every fact of one kind, in order."""
    return [fact for fact in found if isinstance(fact, kind)]


def last_of(found: Iterable[Fact | Tally], kind: type[_F]) -> _F | None:
    """The last fact of one kind."""
    return next(reversed(all_of(found, kind)), None)


def merged(kind: type[_F], found: Iterable[Fact | Tally]) -> _F | None:
    """Several lines of one block put together; later lines only fill gaps."""
    items = all_of(found, kind)
    if not items:
        return None
    values: dict[str, object] = {}
    for item in items:
        for name in type(item).__dataclass_fields__:  # type: ignore[attr-defined]
            value = getattr(item, name)
            if values.get(name) is None:
                values[name] = value
    return kind(**values)
