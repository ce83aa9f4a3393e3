"""`poolsplit ui`: both pools in a browser."""

from __future__ import annotations

import sys


def ui(*, host: str = "127.0.0.1", port: int | None = None) -> None:
    """Both pools in a browser: plan, read, traffic and live, from this machine and without a network.

    Prints the page's address and serves it until it is interrupted.

    Args:
        host: Address to listen on; on any other than this machine's own, the printed address holds a token.
        port: Port to listen on; the usual one without it, or a free one where that is taken.
    """
    from poolsplit.web.serving import serve

    try:
        serve(host, port, _say)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)


def _say(address: str) -> None:
    print(address, flush=True)
    print("serving until it is interrupted (Ctrl-C)", file=sys.stderr, flush=True)
