"""Whether several files tell of one server: its ranks, or one stretch of its time after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import ForeignLine, KvPool, Launch, StatePool, Summary, WeightLoad
from poolsplit.engines.sglang.boot_log.segment import rank_labels
from poolsplit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from poolsplit.engines.sglang.boot_log.scan import FileScan

SHOWN_SERVERS = 4
SHOWN_FILES = 2
_SAME_ON_EVERY_RANK = (
    "tp_size",
    "pp_size",
    "dp_size",
    "mem_fraction_static",
    "mamba_full_memory_ratio",
    "max_mamba_cache_size",
    "max_running_requests",
    "context_length",
    "kv_cache_dtype",
    "speculative_algorithm",
)
"""Flags that the ranks of one start share; a later start of the same server may have others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signs:
    """What one file says about whose log it is."""

    file: str
    ranks: frozenset[str]
    by_kind: tuple[frozenset[str], ...]
    """Engines, models, classes and roles that it names; empty ones are not told."""
    flags: tuple[object, ...]

    @property
    def name(self) -> str:
        """The server in words."""
        engines, models, classes, roles = self.by_kind
        named = next((kind for kind in (models, classes, engines) if kind), frozenset({"not named"}))
        return " ".join((", ".join(sorted(named)), *sorted(roles)))

    def contradict(self, other: _Signs) -> bool:
        """Whether the two files cannot be of one server."""
        named = zip(self.by_kind, other.by_kind, strict=True)
        if any(ours and theirs and not ours & theirs for ours, theirs in named):
            return True
        if not self.ranks or not other.ranks or self.ranks & other.ranks:
            return False
        flags = zip(self.flags, other.flags, strict=True)
        return any(None not in pair and pair[0] != pair[1] for pair in flags)


def refuse_several_servers(scans: Sequence[FileScan]) -> None:
    """One answer is for one server.

    Raises:
        InputError: The files name several models, engines or roles, or ranks that were started with other flags.
    """
    servers: list[list[_Signs]] = []
    for signs in map(_signs, scans):
        for server in servers:
            if not any(signs.contradict(other) for other in server):
                server.append(signs)
                break
        else:
            servers.append([signs])
    if len(servers) < 2:  # noqa: PLR2004  one server is what is wanted
        return
    shown = [f"{server[0].name} ({_files(server)})" for server in servers[:SHOWN_SERVERS]]
    more = f" and {len(servers) - SHOWN_SERVERS} more" if len(servers) > SHOWN_SERVERS else ""
    raise InputError(
        f"the files are of {len(servers)} servers: {'; '.join(shown)}{more}",
        hint=f"read one server at a time, such as `poolsplit read {servers[0][0].file}`",
    )


def _files(server: Sequence[_Signs]) -> str:
    names = [signs.file for signs in server[:SHOWN_FILES]]
    return ", ".join(names) + (", ..." if len(server) > SHOWN_FILES else "")


def _signs(scan: FileScan) -> _Signs:
    found = [event.fact for event in scan.events]
    launches = [fact for fact in found if isinstance(fact, Launch)]
    engines = {fact.engine for fact in found if isinstance(fact, ForeignLine)}
    if any(isinstance(fact, (StatePool, KvPool, Summary)) for fact in found):
        engines = {"sglang"}
    models = {_last_part(str(launch.values["model_path"])) for launch in launches if launch.values.get("model_path")}
    classes = {fact.model_class for fact in found if isinstance(fact, WeightLoad) and fact.model_class}
    roles = {str(launch.values["disaggregation_mode"]) for launch in launches if _has_role(launch)}
    last = launches[-1].values if launches else {}
    return _Signs(
        file=scan.name,
        ranks=frozenset(rank_labels(scan.events)),
        by_kind=tuple(frozenset(kind) for kind in (engines, models, classes, roles)),
        flags=tuple(last.get(name) for name in _SAME_ON_EVERY_RANK),
    )


def _has_role(launch: Launch) -> bool:
    return launch.values.get("disaggregation_mode") in {"prefill", "decode"}


def _last_part(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].casefold()
