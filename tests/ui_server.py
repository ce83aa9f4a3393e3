"""The page's server as a test starts it: the real command in a process of its own, spoken to over plain HTTP."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from support import COMMAND, interruptible

JSON = "application/json"
BINARY = "application/octet-stream"
PATIENCE_S = 60
PLAN = {
    "model": "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "gpu": "h200",
    "flags": "--tp 4",
    "workload": {"context": "9216"},
}
"""A plan that works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        """The JSON object."""
        return json.loads(self.body)

    def assert_refused(self, status: int, *needles: str) -> None:
        """A refusal with an error, a hint and these words."""
        assert self.status == status, self.body
        assert self.document["error"]
        assert self.document["hint"]
        assert "Traceback" not in self.body.decode()
        for needle in needles:
            assert needle in self.body.decode()


class UiServer:
    """`poolsplit ui` while it runs."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url
        parts = urlsplit(url)
        self.port = parts.port
        self.netloc = parts.netloc

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """One request; a body that is no bytes is sent as JSON. Header names take underscores for dashes."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)) as connection:
            sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            if body is not None:
                given.setdefault("Content-Type", BINARY if isinstance(body, bytes) else JSON)
            connection.request(method, path, body=sent, headers=given)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(status=answer.status, headers=found, body=answer.read())

    def upload(self, name: str, content: bytes) -> str:
        """The id of a dropped file."""
        return self.ask("POST", f"/api/uploads?{urlencode({'name': name})}", content).document["upload_id"]

    def start(self, kind: str, **arguments: Any) -> str:
        """The id of a new job."""
        reply = self.ask("POST", "/api/jobs", {"kind": kind, "arguments": arguments})
        assert reply.status == 200, reply.body
        return reply.document["job_id"]

    def events(self, job: str) -> Iterator[tuple[str, Any]]:
        """What a job tells, to its end."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)) as connection:
            connection.request("GET", f"/api/jobs/{job}/events")
            answer = connection.getresponse()
            assert answer.status == 200
            assert answer.getheader("content-type", "").startswith("text/event-stream")
            name = ""
            for line in answer:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)

    def last_event(self, job: str) -> tuple[str, Any]:
        """How a job ends."""
        return list(self.events(job))[-1]

    def work(self, kind: str, **arguments: Any) -> Any:
        """The document of a job that works."""
        name, data = self.last_event(self.start(kind, **arguments))
        assert name == "result", data
        return data["document"]

    def children(self) -> list[int]:
        """Processes that the server has started and that still run."""
        return [int(pid) for pid in _read(f"/proc/{self.process.pid}/task/{self.process.pid}/children").split()]

    def stop(self, sign: int = signal.SIGINT) -> int:
        """Ends the server and gives its exit code."""
        self.process.send_signal(sign)
        return self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def running_ui(*options: str, cwd: Any = None, env: dict[str, str] | None = None) -> Iterator[UiServer]:
    """The real command, on a free port."""
    command = interruptible([str(COMMAND), "ui", "--port", "0", *options])
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env={**os.environ, **(env or {})}
    )
    try:
        assert process.stdout is not None
        yield UiServer(process, process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


def until(holds: Callable[[], bool], patience_s: float = 30) -> None:
    """Waits for something to become true."""
    end_s = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    """Whether a process runs, and not only waits to be noticed."""
    state = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return bool(state) and state[0] != "Z"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""
