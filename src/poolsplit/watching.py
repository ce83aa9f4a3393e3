"""Live servers, gates and dashboards: the rooms of `live`, the engine's readers and plans, joined.

Beside `api` on the same floor, and reached through it.
"""

from __future__ import annotations

import json
import os
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolsplit.data import gpu
from poolsplit.engines.sglang import metrics, server_info
from poolsplit.engines.sglang.recorded import recorded_series
from poolsplit.errors import InputError, PoolsplitError, UsageError
from poolsplit.live.constants import PoolConstants
from poolsplit.live.expected import PLAN_HINT, Expected, PlannedSplit, from_facts, from_plan, planned_split
from poolsplit.live.exporter import Exporter
from poolsplit.live.fetch import Connection, server_root
from poolsplit.live.recording import Recorder, is_session, read_session
from poolsplit.live.scrape import LiveServer
from poolsplit.live.session import Judging, Pace, SystemClock, Tick, Watch, watch_recording, watch_servers
from poolsplit.live.verify import Tolerances
from poolsplit.report.alert_rules import PlannedFigures, rules_yaml
from poolsplit.report.dashboard import dashboard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from poolsplit.engines.live_reading import ServerFacts
    from poolsplit.live.session import Clock

TOKEN_VARIABLE = "POOLSPLIT_TOKEN"  # noqa: S105 - a variable's name
_KEY_HINT = "put the server's key alone into the file"
MAX_SERVERS = 64
"""Servers whose start-up is followed once; beyond that, again at every look."""
KV_BYTES_TOLERANCE = 0.02
"""A server prints its KV pool in thousandths of a GiB, and the pool holds one page more than it hands out."""


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


def connection(*, token_file: str | None, ca_file: str | None, timeout_s: float) -> Connection:
    """How to speak to servers; the token comes from a file or from POOLSPLIT_TOKEN, never from the command line.

    Raises:
        InputError: The token file cannot be read or is empty.
        UsageError: The timeout is not above 0.
    """
    if timeout_s <= 0:
        raise UsageError("`--timeout` must be above 0", hint="write `10s`")
    token = os.environ.get(TOKEN_VARIABLE) or None
    if token_file is not None:
        try:
            token = Path(token_file).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the key cannot be read: {error}", hint=_KEY_HINT, where=token_file) from None
        if not token:
            raise InputError("the file is empty", hint=_KEY_HINT, where=token_file)
    return Connection(timeout_s=timeout_s, token=token, ca_file=ca_file)


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


def expecter(plan: str | None) -> Callable[[ServerFacts | None], Expected | None]:
    """What a server should show: a plan's figures, or what follows from its own facts.

    Raises:
        InputError: The plan cannot be read.
    """
    if plan is not None:
        expected = from_plan(read_json(plan), where=plan)
        return lambda _facts: expected
    known: deque[tuple[ServerFacts, Expected]] = deque(maxlen=MAX_SERVERS)

    def from_server(facts: ServerFacts | None) -> Expected | None:
        if facts is None:
            return None
        for seen, expected in known:
            if seen == facts:
                return expected
        known.append((facts, _expected_of(facts)))
        return known[-1][1]

    return from_server


def planned_split_of(path: str) -> PlannedSplit:
    """The split that a plan file recommends.

    Raises:
        InputError: The file cannot be read, or is no plan.
    """
    return planned_split(read_json(path), where=path)


def dashboard_files(plan: str, *, gateway: bool) -> dict[str, Any]:
    """Files of a dashboard for a plan: a decoded JSON object and a text, by file name.

    Raises:
        InputError: The plan cannot be read.
    """
    document = read_json(plan)
    expected = from_plan(document, where=plan)
    constants = expected.constants
    planned = PlannedFigures(
        model=str(document.get("model") or "server"),
        state_slots=expected.state_slots,
        kv_rows=expected.kv_tokens // (constants.dcp_size if constants else 1) if expected.kv_tokens else None,
        slots_per_request=constants.slots_per_request if constants else None,
        granted_requests=expected.granted_requests,
        running_requests=expected.running_requests,
        request_tokens=expected.request_tokens,
        cached_fraction=expected.cached_fraction,
        flags=expected.flags,
    )
    series = recorded_series(metrics.PREFIXES[1 if gateway else 0])
    return {"dashboard.json": dashboard(planned), "rules.yml": rules_yaml(series, planned)}


def read_json(path: str) -> Any:
    """A decoded JSON file.

    Raises:
        InputError: It cannot be read, or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", hint=PLAN_HINT, where=path) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", hint=PLAN_HINT, where=path) from None


def _expected_of(facts: ServerFacts) -> Expected:
    try:
        constants, reason = _constants_of(facts)
    except PoolsplitError as error:
        constants, reason = None, str(error)
    except Exception as error:  # noqa: BLE001 - a server's word, whatever it is, does not stop the watch
        constants, reason = None, f"its arguments cannot be followed: {type(error).__name__}: {error}"
    return from_facts(facts, constants, constants_reason=reason)


def _constants_of(facts: ServerFacts) -> tuple[PoolConstants | None, str | None]:
    """Constants of an embedded model or a local config; a server's word never opens the network."""
    from poolsplit.engines.sglang.pool_constants import constants_of
    from poolsplit.hub import find_model
    from poolsplit.shapes import catalog

    path = facts.model_path or ""
    if not path or (catalog.find(path) is None and not Path(path).exists()):
        return None, f"`{path}` is no embedded model: give a plan"
    if facts.draft_path:
        return None, "the server speculates with a draft checkpoint: give a plan"
    found = find_model(path)
    price = constants_of(found.shape, facts)
    if price is None:
        return None, f"`{path}` has no state layers"
    unlike = _unlike_rows(facts, price.first_stage_kv_bytes_per_token)
    if unlike:
        return None, unlike
    return (
        PoolConstants(
            state_bytes_per_slot=price.state_bytes_per_slot,
            kv_bytes_per_token=price.kv_bytes_per_token,
            slots_per_request=price.slots_per_request,
            draft_states=price.draft_states,
            dcp_size=facts.dcp_size,
            origin=found.origin,
        ),
        None,
    )


def _unlike_rows(facts: ServerFacts, row: float) -> str | None:
    """Why the server's KV rows cannot be those of this model; its figure leaves a draft's rows out."""
    if not facts.kv_pool_bytes or not facts.kv_tokens:
        return None
    measured = facts.kv_pool_bytes / facts.kv_tokens
    fewer_is_wrong = not facts.draft_states
    if measured > row * (1 + KV_BYTES_TOLERANCE) or (fewer_is_wrong and measured < row * (1 - KV_BYTES_TOLERANCE)):
        return f"the server's KV rows take {measured:,.0f} bytes, the model's {row:,.0f}: give a plan"
    return None


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
        return Path(path).open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}", hint="name a file in a folder that is there", where=path
        ) from None


__all__ = ["EXPORTER", "Tick", "WatchRequest", "connection", "expecter", "watch"]
