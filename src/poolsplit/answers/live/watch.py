"""Watching: servers, recordings, the engine's readers and what is expected, joined."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.answers.live.expect import expecter
from poolsplit.data import gpu
from poolsplit.engines.sglang import metrics, server_info
from poolsplit.errors import InputError, UsageError
from poolsplit.live.exporter import Exporter
from poolsplit.live.fetch import Connection, server_root
from poolsplit.live.recording import Recorder, is_session, read_session
from poolsplit.live.scrape import LiveServer
from poolsplit.live.session import Judging, Pace, SystemClock, Tick, Watch, watch_recording, watch_servers
from poolsplit.live.verify import Tolerances

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.live.session import Clock

TOKEN_VARIABLE = "POOLSPLIT_TOKEN"  # noqa: S105 - a variable's name
_KEY_HINT = "put the server's key alone into the file"


def known_card(name: str | None) -> str | None:
    """Our id of a card by the name that its driver gives, such as `NVIDIA H100 80GB HBM3`; None for another card."""
    words = (name or "").replace("-", " ").split()
    words = words[1:] if words and words[0].casefold() in ("nvidia", "amd") else words
    plain = " ".join(word for word in words if not word.upper().startswith("HBM"))
    try:
        return gpu(plain).id if plain else None
    except InputError:
        return None


EXPORTER = Exporter(
    engine="sglang",
    metrics_path=server_info.METRICS_PATH,
    metrics_hint=server_info.METRICS_HINT,
    info_paths=server_info.INFO_PATHS,
    loads_path=server_info.LOADS_PATH,
    is_wanted=metrics.is_wanted,
    read_metrics=metrics.read_metrics,
    read_info=server_info.read_server_info,
    read_loads=server_info.read_loads,
    read_accelerator=lambda loads: known_card(server_info.read_accelerator(loads)),
    trim_info=server_info.trim_server_info,
    advice=server_info.ADVICE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """What to watch and how to judge it."""

    targets: tuple[str, ...]
    """Addresses of servers, or one recorded session."""
    plan: str | None = None
    pace: Pace = field(default_factory=Pace)
    connection: Connection = field(default_factory=Connection)
    record: str | None = None
    window_s: float = 300.0
    reuse_limit: float | None = None
    max_error: float | None = None
    """Allowed distance of sizes from the prediction, as a fraction; None is the usual one."""

    def __post_init__(self) -> None:
        """Asks for what can be.

        Raises:
            UsageError: No look at all, or a share outside 0 to 1.
        """
        if self.pace.looks is not None and self.pace.looks < 1:
            raise UsageError("`--looks` is below 1", hint="ask for one look or more")
        for name, value in (("--max-error", self.max_error), ("--reuse-limit", self.reuse_limit)):
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"`{name}` is not a share", hint="write a number from 0 to 1, such as 0.05")


def connection(*, token_file: str | None, ca_file: str | None, timeout_s: float) -> Connection:
    """How to speak to servers; the token comes from a file or from POOLSPLIT_TOKEN, never from the command line.

    Raises:
        InputError: The token file cannot be read or is empty.
        UsageError: The timeout is not above 0.
    """
    if timeout_s <= 0:
        raise UsageError("`--timeout` must be above 0", hint="write `10s`")
    return Connection(timeout_s=timeout_s, token=_token(token_file), ca_file=ca_file)


def _token(token_file: str | None) -> str | None:
    """The server's key; one that no header can carry is refused here, for a library's error would print it."""
    where, token = token_file or TOKEN_VARIABLE, os.environ.get(TOKEN_VARIABLE, "").strip() or None
    if token_file is not None:
        try:
            token = Path(token_file).read_text(encoding="ascii").strip()
        except UnicodeDecodeError:
            raise InputError("the key is no plain text", hint=_KEY_HINT, where=where) from None
        except OSError as error:
            raise InputError(f"the key cannot be read: {error.strerror}", hint=_KEY_HINT, where=where) from None
        if not token:
            raise InputError("the file is empty", hint=_KEY_HINT, where=where)
    if token is not None and not (token.isascii() and token.isprintable()):
        raise InputError("the key has characters that no header carries", hint=_KEY_HINT, where=where)
    return token


def watch(request: WatchRequest, *, clock: Clock | None = None) -> Iterator[Tick]:
    """Looks at servers, or at a recorded session, and judges every look.

    Raises:
        InputError: A plan or a recording that cannot be read.
        UsageError: No target, or a recording beside other targets.
        EngineUnreachableError: No server answers the first look.
    """
    judging = Judging(
        expect=expecter(request.plan),
        tolerances=tolerances(request.max_error),
        window_s=request.window_s,
        reuse_limit=request.reuse_limit,
    )
    watched = Watch(EXPORTER, judging)
    recordings = [target for target in request.targets if is_session(target)]
    if recordings:
        if len(request.targets) > 1 or request.record:
            raise UsageError("a recorded session is read alone", hint="name one recording, or servers")
        yield from _limited(watch_recording(read_session(recordings[0]), watched), request.pace.looks)
        return
    servers = [LiveServer(root, request.connection, EXPORTER) for root in _roots(request.targets)]
    with ExitStack() as stack:
        recorder = None
        if request.record:
            handle = stack.enter_context(_open_record(request.record))
            recorder = Recorder(handle, EXPORTER)
        yield from watch_servers(servers, watched, request.pace, clock=clock or SystemClock(), recorder=recorder)


def tolerances(max_error: float | None) -> Tolerances:
    """The usual tolerances, or others for sizes and running requests."""
    return Tolerances() if max_error is None else Tolerances(sizes=max_error, running=max_error)


def _roots(targets: Sequence[str]) -> list[str]:
    if not targets:
        raise UsageError("nothing to watch", hint="give a server's address, such as `http://host:30000`")
    for target in targets:
        if Path(target).is_file():
            raise InputError("a file, but not a recorded session", hint="give an address, or a recording", where=target)
    return list(dict.fromkeys(server_root(target) for target in targets))


def _limited(ticks: Iterator[Tick], looks: int | None) -> Iterator[Tick]:
    for number, tick in enumerate(ticks):
        if looks is not None and number >= looks:
            return
        yield tick


def _open_record(path: str) -> Any:
    try:
        return Path(path).open("a", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", hint="name a file in a folder that is there", where=path
        ) from None


__all__ = ["EXPORTER", "Tick", "WatchRequest", "connection", "expecter", "watch"]
