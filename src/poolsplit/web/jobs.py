"""Long work in processes of its own: started, followed by any number of listeners, cancelled, and never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
import time
from typing import TYPE_CHECKING, Any

from poolsplit.errors import InputError, UsageError
from poolsplit.web.asked import converted
from poolsplit.web.job_words import JobFile, PageFile
from poolsplit.web.replies import RefusedRequest, to_json
from poolsplit.web.work import KINDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from poolsplit.web.asked import JobWords
    from poolsplit.web.uploads import Uploads

MOST_JOBS = 4
GRACE_S = 10.0
"""A job that nobody has listened to for so long is ended: the page is gone."""
HEARTBEAT_S = 5.0
LOOK_ROUND_S = 1.0
LONGEST_EVENT_BYTES = 1 << 28
_ENDS = ("result", "error", "cancelled")


class Job:
    """One process and what it has told."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.id = secrets.token_urlsafe(12)
        self._process = process
        self._told: dict[str, tuple[int, bytes]] = {}
        """The last event of each name, and its number."""
        self._news = asyncio.Event()
        self._listeners = 0
        self._left_at_s = time.monotonic()
        self._reader = asyncio.create_task(self._read())

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is to come."""
        return any(name in self._told for name in _ENDS)

    @property
    def is_forsaken(self) -> bool:
        """Whether nobody listens, and nobody has for a while."""
        return not self._listeners and time.monotonic() - self._left_at_s > GRACE_S

    async def events(self) -> AsyncIterator[bytes]:
        """The last event of each name, then every new one, as an event stream; comments keep it alive."""
        heard = 0
        self._listeners += 1
        try:
            while True:
                news, last = self._news, self.has_ended
                fresh = sorted((number, name, data) for name, (number, data) in self._told.items() if number > heard)
                for number, name, data in fresh:
                    yield f"event: {name}\n".encode() + b"data: " + data + b"\n\n"
                    heard = number
                if last:
                    return
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), HEARTBEAT_S)
                if not news.is_set():
                    yield b": alive\n\n"
        finally:
            self._listeners -= 1
            self._left_at_s = time.monotonic()

    def cancel(self) -> None:
        """Kills the process, if it still works."""
        if not self.has_ended:
            self._tell("cancelled", b"{}")
        self.kill()

    def kill(self) -> None:
        """Ends the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> None:
        """Waits until the process is gone."""
        await self._reader

    async def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  it was asked for
        try:
            async for line in self._process.stdout:
                name, _, data = line.rstrip(b"\n").partition(b"\t")
                self._tell(name.decode(), data)
        except ValueError:  # longer than an event may be: what is left in the pipe keeps the process from ending
            self.kill()
            await self._process.stdout.read()
        code = await self._process.wait()
        if not self.has_ended:
            hint = "ask on the command line, which says more" if code > 0 else "it may need more memory than there is"
            self._tell("error", to_json({"error": f"the work ended without an answer (code {code})", "hint": hint}))

    def _tell(self, name: str, data: bytes) -> None:
        if self.has_ended:
            return
        number = 1 + max((number for number, _ in self._told.values()), default=0)
        self._told[name] = (number, data)
        news, self._news = self._news, asyncio.Event()
        news.set()


class Jobs:
    """All work that goes on, and what has ended and may still be asked for."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads
        self._jobs: dict[str, Job] = {}
        self._starting = 0
        self._caretaker: asyncio.Task[None] | None = None

    async def start(self, asked: JobWords) -> Job:
        """Starts a process for one piece of work.

        Raises:
            RefusedRequest: As many work as may.
            InputError: No such kind, or a file that is not kept.
        """
        if asked.kind not in KINDS:
            raise UsageError(f"there is no work `{asked.kind}`", hint=f"one of {', '.join(KINDS)}")
        arguments, names = self._with_files(asked.arguments)
        if self._starting + sum(not job.has_ended for job in self._jobs.values()) >= MOST_JOBS:
            raise RefusedRequest(429, f"{MOST_JOBS} pieces of work go on", hint="cancel one, or wait for its end")
        self._starting += 1
        try:
            process = await _spawn(
                {"kind": asked.kind, "arguments": arguments, "names": names, "parent": os.getpid()},
                [int(path.rpartition("/")[2]) for path in names],
            )
        finally:
            self._starting -= 1
        job = Job(process)
        self._jobs[job.id] = job
        if self._caretaker is None:
            self._caretaker = asyncio.create_task(self._look_round())
        return job

    def find(self, job_id: str) -> Job:
        """One job.

        Raises:
            RefusedRequest: There is none, or none any more.
        """
        if job_id not in self._jobs:
            raise RefusedRequest(404, "this work is not known any more", hint="start it again")
        return self._jobs[job_id]

    def stop(self) -> None:
        """Ends all work, so that its listeners go."""
        for job in self._jobs.values():
            job.cancel()

    async def close(self) -> None:
        """Ends all work and waits for its processes."""
        self.stop()
        if self._caretaker is not None:
            self._caretaker.cancel()
        await asyncio.gather(*(job.ended() for job in self._jobs.values()))

    def _with_files(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Arguments with dropped files by the path that the process opens, and their names by path."""
        if "files" not in arguments:
            return dict(arguments), {}
        asked = arguments["files"] if isinstance(arguments["files"], list) else [arguments["files"]]
        files = [self._file(converted(file, PageFile)) for file in asked]
        names = {file.path: file.name for file in files if file.path is not None}
        return {**arguments, "files": [file.given() for file in files]}, names

    def _file(self, asked: PageFile) -> JobFile:
        if asked.sample is not None:
            return JobFile(sample=asked.sample, name=asked.sample)
        if asked.upload is None:
            raise InputError("a file is neither dropped nor a sample", hint="drop one, or pick a sample")
        found = self._uploads.find(asked.upload)
        return JobFile(path=found.path, name=found.name, size_bytes=found.size_bytes)

    async def _look_round(self) -> None:
        """Ends what nobody listens to, for as long as the server runs."""
        while True:
            await asyncio.sleep(LOOK_ROUND_S)
            for job in [job for job in self._jobs.values() if job.is_forsaken]:
                job.cancel()
                del self._jobs[job.id]
                await job.ended()


async def _spawn(asked: Mapping[str, Any], descriptors: list[int]) -> asyncio.subprocess.Process:
    """A fresh Python that works on one request; an interrupt of the terminal is the server's alone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # modules of the folder that the server was started in are not ours
        "-m",
        "poolsplit.web.worker",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        pass_fds=descriptors,
        start_new_session=True,
        limit=LONGEST_EVENT_BYTES,
    )
    assert process.stdin is not None  # noqa: S101  it was asked for
    process.stdin.write(to_json(asked) + b"\n")
    with contextlib.suppress(ConnectionError):
        await process.stdin.drain()
    process.stdin.close()
    return process
