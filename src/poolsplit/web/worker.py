"""One piece of long work in a process of its own: the request on standard input, events on standard output.

An event is one line: its name, a tab, its JSON. The process ends with its parent, however that ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sys
from typing import IO, TYPE_CHECKING, Any

from poolsplit.errors import PoolsplitError
from poolsplit.report.whole_document import whole
from poolsplit.web.replies import error_body, fault_body, to_json
from poolsplit.web.work import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

_PR_SET_PDEATHSIG = 1
_OPENED = re.compile(rb"/proc/self/fd/(\d+)")


def main() -> None:
    """Does what standard input asks."""
    asked = json.loads(sys.stdin.buffer.readline())
    _end_with(asked["parent"])
    tell = _Teller(_own_stdout(), asked["names"])
    try:
        document = KINDS[asked["kind"]](asked["arguments"], tell)
        tell("result", {"document": whole(document)})
    except PoolsplitError as error:
        tell("error", error_body(error))
    except MemoryError:
        tell("error", {"error": "there is not enough memory", "hint": "give a shorter trace or log"})
    except Exception as error:  # noqa: BLE001  whatever it is, the page is told
        tell("error", fault_body(error))


class _Teller:
    """Writes events, with files by the names that the page knows."""

    def __init__(self, out: IO[bytes], names: Mapping[str, str]) -> None:
        self._out = out
        self._names = {path.encode(): json.dumps(name)[1:-1].encode() for path, name in names.items()}

    def __call__(self, event: str, data: Mapping[str, Any]) -> None:
        text = _OPENED.sub(lambda found: self._names.get(found[0], b"the plan"), to_json(data))
        self._out.write(event.encode() + b"\t" + text + b"\n")
        self._out.flush()


def _own_stdout() -> IO[bytes]:
    """Standard output for events alone: what anything else prints goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def _end_with(parent: int) -> None:
    """Has the kernel end this process with its parent, which may be killed without a word."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


if __name__ == "__main__":
    main()
