"""Dropped files: kept as files without a name, so that nothing is left however the server ends."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from poolsplit.errors import InputError
from poolsplit.units import GIB, format_size
from poolsplit.web.replies import RefusedRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

UPLOAD_LIMIT_BYTES = GIB
"""Largest file that is taken."""
KEPT_BYTES = 3 * GIB
"""Most that is kept at a time: the oldest files make room."""
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """One file that a page dropped."""

    id: str
    name: str
    size_bytes: int
    file: IO[bytes]

    @property
    def path(self) -> str:
        """Where a process that was given the file's descriptor opens it."""
        return f"/proc/self/fd/{self.file.fileno()}"


class Uploads:
    """Every file that is kept, oldest first."""

    def __init__(self, limit_bytes: int = UPLOAD_LIMIT_BYTES, kept_bytes: int = KEPT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._kept_bytes = kept_bytes
        self._files: dict[str, Upload] = {}

    async def take(self, name: str, parts: AsyncIterator[bytes]) -> Upload:
        """Writes a stream to a file.

        Raises:
            RefusedRequest: It is longer than the limit.
        """
        file = tempfile.TemporaryFile(prefix="poolsplit-ui-")  # noqa: SIM115  it lives as long as the upload
        try:
            size = await self._write(file, parts)
        except BaseException:
            file.close()
            raise
        upload = Upload(id=secrets.token_urlsafe(12), name=_plain(name), size_bytes=size, file=file)
        self._files[upload.id] = upload
        self._make_room()
        return upload

    def find(self, upload_id: str) -> Upload:
        """One file.

        Raises:
            InputError: It is not kept, or not any more.
        """
        found = self._files.get(upload_id)
        if found is None:
            raise InputError("the dropped file is not kept any more", hint="drop it again")
        return found

    def drop(self, upload_id: str) -> None:
        """Forgets a file; a process that reads it goes on."""
        found = self._files.pop(upload_id, None)
        if found is not None:
            found.file.close()

    def close(self) -> None:
        """Forgets every file."""
        for upload_id in list(self._files):
            self.drop(upload_id)

    async def _write(self, file: IO[bytes], parts: AsyncIterator[bytes]) -> int:
        size = 0
        async for part in parts:
            size += len(part)
            if size > self.limit_bytes:
                raise too_large(self.limit_bytes)
            file.write(part)
        file.flush()
        return size

    def _make_room(self) -> None:
        while sum(upload.size_bytes for upload in self._files.values()) > self._kept_bytes:
            self.drop(next(iter(self._files)))


def too_large(limit_bytes: int) -> RefusedRequest:
    """The answer to a file beyond the limit."""
    return RefusedRequest(
        413,
        f"the file is larger than {format_size(limit_bytes)}",
        hint="read it on the command line, which has no limit: `poolsplit read FILE`, `poolsplit replay FILE`",
    )


def _plain(name: str) -> str:
    """The last part of a name, on one line, for messages and documents."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in last if sign.isprintable())[:_LONGEST_NAME] or "dropped file"
