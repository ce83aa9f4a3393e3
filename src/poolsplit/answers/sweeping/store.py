"""Results in a folder: a file a point, written whole or not at all, and one list of them in the grid's order."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError
from poolsplit.sweep.grid import digest_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.sweep.grid import Grid, Point

SCHEMA_VERSION = 1
SPEC_NAME = "spec.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """One sweep's folder."""

    folder: Path
    new: bool
    """Whether nothing was kept there before."""

    @classmethod
    def open(cls, name: str, grid: Grid, *, resume: bool) -> Store:
        """The folder of a grid, made if it is not there.

        Raises:
            InputError: It holds a sweep already, another one, or cannot be written.
        """
        store = cls(folder=Path(name), new=not (Path(name) / SPEC_NAME).exists())
        spec = {"schema_version": SCHEMA_VERSION, "axes": [[axis, list(values)] for axis, values in grid.axes]}
        try:
            (store.folder / "points").mkdir(parents=True, exist_ok=True)
            if store.spec_file.exists():
                store._check(json.loads(store.spec_file.read_text(encoding="utf-8")), spec, resume=resume)
            else:
                write_whole(store.spec_file, json.dumps(spec, indent=2) + "\n")
        except OSError as error:
            raise InputError(
                f"cannot keep a sweep there: {error.strerror}", where=name, hint="give a folder that can be written"
            ) from None
        except ValueError:
            raise InputError("spec.json is damaged", where=name, hint="begin in an empty folder") from None
        return store

    def _check(self, found: Any, wanted: Any, *, resume: bool) -> None:
        where = str(self.folder)
        if found != wanted:
            raise InputError("the folder holds another sweep", where=where, hint="begin in an empty folder")
        if not resume:
            raise InputError("the folder holds this sweep already", where=where, hint="go on with it: --resume")

    @property
    def spec_file(self) -> Path:
        """What is swept."""
        return self.folder / SPEC_NAME

    def _file(self, point: Point) -> Path:
        return self.folder / "points" / f"{digest_of(point)}.json"

    def has(self, point: Point) -> bool:
        """Whether a point is done."""
        return self._file(point).exists()

    def keep(self, point: Point, result: dict[str, Any]) -> None:
        """Writes the result of a point."""
        write_whole(self._file(point), json.dumps({"point": point, **result}, ensure_ascii=False) + "\n")

    def forget(self) -> None:
        """Leaves the folder as it was found: nothing of a sweep that was refused stands in the way of the next."""
        self.spec_file.unlink(missing_ok=True)
        for folder in (self.folder / "points", self.folder):
            with contextlib.suppress(OSError):  # NOTE: it holds what is not ours
                folder.rmdir()

    def unserved(self, points: Sequence[Point]) -> int:
        """How many points that are there have no figure, but a reason."""
        return sum(json.loads(self._file(p).read_bytes())["cached_tokens"] is None for p in points if self.has(p))

    def write_results(self, points: Sequence[Point]) -> None:
        """The list of all results that are there, in the grid's order."""
        lines = [self._file(p).read_text(encoding="utf-8") for p in points if self.has(p)]
        write_whole(self.folder / "results.jsonl", "".join(lines))


def write_whole(path: Path, text: str) -> None:
    """Writes a file that is complete or not there at all, whatever kills the process."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
