"""A watched sample as one status line, and as a block of findings; made from the JSON document of the sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_KILO = 1000


def watch_line(document: Mapping[str, Any]) -> str:
    """One line for one replica, server without an answer, or fleet."""
    if "error" in document:
        return f"{document['server']}  no answer: {document['error']}"
    if "fleet" in document:
        return _fleet_line(document["fleet"])
    parts = [
        document["time"][11:19],
        f"run {_of(document['running'], document['granted'])} queue {_number(document['queued'])}",
        _pool("state", document["state"]),
        _pool("kv", document["kv"]),
        f"ctx {_thousands(document['mean_context_tokens'])}",
        _reuse(document),
        *_beside_the_device(document),
        f"retracted {_number(document['retractions'])}",
        f"stops {document['binding'] or _no_limit(document)}",
    ]
    if document["restarted"]:
        parts.append("restarted")
    return "  ".join(parts)


def finding_blocks(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Findings and mismatches of one sample by their id: a head line, the evidence, the flags to change."""
    blocks: dict[str, list[str]] = {}
    for finding in document.get("findings", ()):
        lines = [f"{finding['severity']}: {finding['text']}", *(f"    {fact}" for fact in finding["evidence"])]
        if finding["flags"]:
            lines.append(f"    change: {', '.join(finding['flags'])}")
        blocks[finding["id"]] = lines
    for row in document.get("comparisons", ()):
        if row["ok"] is False:
            text = f"mismatch: {row['name']} is {_plain(row['measured'])}, predicted {_plain(row['predicted'])}"
            blocks[f"mismatch {row['name']}"] = [text]
    return blocks


def warning_lines(document: Mapping[str, Any]) -> list[str]:
    """What could not be read."""
    lines = list(document.get("warnings", ()))
    missing = document.get("missing") or ()
    if missing:
        lines.append(f"{len(missing)} series are missing, such as {missing[0]}")
    return lines


def derivation_lines(document: Mapping[str, Any]) -> list[str]:
    """How figures were found."""
    return [
        f"{step['name']} = {_plain(step['value'])} {step['unit']}  ({step['source']})"
        for step in document.get("derivation", ())
    ]


def _fleet_line(fleet: Mapping[str, Any]) -> str:
    parts = [f"fleet of {fleet['replicas']}", f"run {_number(fleet['running'])} queue {_number(fleet['queued'])}"]
    place = fleet["tightest"]
    if place is not None:
        free = f"{place['reclaimable_fraction']:.0%}"
        parts.append(f"tightest {place['pool']} on {place['server']} {place['rank']}, {free} to give")
    if fleet["affine_sessions"] is not None:
        each = " ".join(str(room["sessions"]) for room in fleet["sessions_per_replica"])
        parts.append(
            f"sessions kept {each}: {fleet['affine_sessions']} with affine routing, "
            f"{fleet['scattered_sessions']} without"
        )
    return "  ".join(parts)


def _no_limit(document: Mapping[str, Any]) -> str:
    """A dash where nothing stops a request; requests that wait under a cap that the server does not tell are open."""
    return "unknown" if document["granted"] is None and document["queued"] != 0 else "-"


def _pool(name: str, pool: Mapping[str, int] | None) -> str:
    if pool is None or not pool["capacity"]:
        return f"{name} -"
    used, kept = (pool[part] / pool["capacity"] for part in ("used", "evictable"))
    return f"{name} {used:.0%} used {kept:.0%} kept of {pool['capacity']:,}"


def _reuse(document: Mapping[str, Any]) -> str:
    if document["cached_fraction"] is None:
        return "reuse -"
    tiers = document["cached_by_tier"]
    below = [f"{tier} {tiers[tier]:.0%}" for tier in ("host", "storage") if tiers[tier]]
    since = " since start" if document["span"] == "since_start" else ""
    return f"reuse {document['cached_fraction']:.0%}" + (f" ({', '.join(below)})" if below else "") + since


def _beside_the_device(document: Mapping[str, Any]) -> list[str]:
    """The fullest host tier, and requests between prefill and decode, where there are any."""
    parts = []
    hosts = [rank["host"] for rank in document["ranks"] if rank["host"] is not None]
    if hosts:
        rows = max(host["used_tokens"] / host["total_tokens"] for host in hosts)
        kept = [host["used_states"] / host["total_states"] for host in hosts if host["total_states"]]
        parts.append("host " + (f"states {max(kept):.0%} " if kept else "") + f"kv {rows:.0%}")
    between = sum(sum(rank["transfer_queues"].values()) for rank in document["ranks"] if rank["transfer_queues"])
    return [*parts, f"between {between}"] if between else parts


def _of(value: int | None, limit: int | None) -> str:
    return _number(value) if limit is None else f"{_number(value)}/{limit}"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value}"


def _thousands(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value / _KILO:.1f}k" if value >= _KILO else f"{value:.0f}"


def _plain(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
