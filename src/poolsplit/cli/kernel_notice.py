"""What a replay says on stderr before there is an answer: that its kernel is compiled, or that nothing is known yet."""

from __future__ import annotations

import contextlib
import sys
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 1.5
"""A kernel that is on disk loads in less."""


@contextlib.contextmanager
def kernel_ready(*, quiet: bool) -> Iterator[None]:
    """Has the kernel ready when the block begins; a first compilation is announced."""
    from poolsplit import api

    notice = Timer(PATIENCE_S, _say)
    notice.daemon = True
    if not quiet:
        notice.start()
    try:
        api.prepare_replay()
    finally:
        notice.cancel()
    yield


@contextlib.contextmanager
def nothing_known() -> Iterator[None]:
    """Says of an interrupt that comes before there is anything to answer that there is nothing."""
    try:
        yield
    except KeyboardInterrupt:
        print("nothing is known yet: no request was replayed to be told of", file=sys.stderr)
        raise


def _say() -> None:
    print("compiling the replay kernel: about a minute, once; it is kept on disk", file=sys.stderr, flush=True)
