"""The keys of one config, read strictly: a missing or nonsense value is an error that names the key and the file."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from poolsplit.errors import UnsupportedModelError

MAX_LAYERS = 10_000
_MAX_DIMENSION = 1 << 40


class ConfigKeys:
    """One level of a config: its values, where it was read from and the path of keys that led to it.

    Args:
        values: The decoded mapping.
        where: The file or model id, for errors.
        path: Keys above this level, dotted.
    """

    __slots__ = ("path", "values", "where")

    def __init__(self, values: Mapping[str, Any], *, where: str, path: str = "") -> None:
        self.values = values
        self.where = where
        self.path = path

    def has(self, name: str) -> bool:
        """Whether the key is there with a value other than null."""
        return self.values.get(name) is not None

    def integer(self, *names: str, default: int | None = None, minimum: int = 1) -> int:
        """The first of the named keys that is there, a whole number of at least `minimum`.

        Raises:
            UnsupportedModelError: Missing without a default, not a whole number, or out of range.
        """
        for name in names:
            value = self.values.get(name)
            if value is not None:
                return self._whole(name, value, minimum)
        if default is None:
            raise self.missing(names[0])
        return default

    def optional_integer(self, *names: str, minimum: int = 0) -> int | None:
        """As `integer`, or None when none of the keys is there."""
        for name in names:
            value = self.values.get(name)
            if value is not None:
                return self._whole(name, value, minimum)
        return None

    def number(self, name: str) -> float:
        """A finite number.

        Raises:
            UnsupportedModelError: Missing, not a number, or not finite.
        """
        value = self.values.get(name)
        if value is None:
            raise self.missing(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MAX_DIMENSION:
            raise self.wrong(name, value, "a positive number")
        return float(value)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A truth value."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, value, "true or false")
        return value

    def text(self, name: str) -> str | None:
        """A string, or None when the key is not there."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, value, "a string")
        return value

    def sequence(self, name: str) -> Sequence[Any] | None:
        """A list, or None when the key is not there."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, list | tuple):
            raise self.wrong(name, value, "a list")
        return value

    def layer_numbers(self, name: str, *, layers: int, first: int = 0) -> tuple[int, ...] | None:
        """A list of layer numbers that start at `first`, as sorted numbers from 0; None when it is not there.

        Raises:
            UnsupportedModelError: A number outside the model, or named twice.
        """
        listed = self.sequence(name)
        if listed is None:
            return None
        ids = [item - first for item in listed if isinstance(item, int) and not isinstance(item, bool)]
        if len(ids) != len(listed) or len(set(ids)) != len(ids) or not all(0 <= item < layers for item in ids):
            raise self.wrong(name, listed, f"different layer numbers from {first} to {layers - 1 + first}")
        return tuple(sorted(ids))

    def nested(self, name: str) -> ConfigKeys | None:
        """The mapping under a key, or None when it is not there."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.wrong(name, value, "a mapping")
        return ConfigKeys(value, where=self.where, path=f"{self.path}{name}.")

    def need(self, name: str) -> ConfigKeys:
        """As `nested`.

        Raises:
            UnsupportedModelError: The key is not there.
        """
        found = self.nested(name)
        if found is None:
            raise self.missing(name)
        return found

    def missing(self, name: str) -> UnsupportedModelError:
        """The error for a key that is not there."""
        return UnsupportedModelError(
            f"the config has no `{self.path}{name}`",
            hint="give the model's whole config.json; a partial one cannot be priced",
            where=self.where,
        )

    def wrong(self, name: str, value: object, expected: str) -> UnsupportedModelError:
        """The error for a value that cannot be."""
        return UnsupportedModelError(
            f"`{self.path}{name}` is {reprlib.repr(value)}, expected {expected}",
            hint="check the config file; nothing is guessed in its place",
            where=self.where,
        )

    def _whole(self, name: str, value: object, minimum: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value < _MAX_DIMENSION:
            raise self.wrong(name, value, f"a whole number of at least {minimum}")
        return value
