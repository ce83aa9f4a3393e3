"""Lines and arguments that only some releases print; together they bound the version.

A missing line proves nothing, since the condition for printing it may not hold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from poolsplit.engines.boot_facts import Launch, ReleaseHint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from poolsplit.engines.sglang.boot_log.records import Record

_LINES: tuple[tuple[re.Pattern[str], str | None, str | None, str], ...] = (
    (re.compile("impl=MambaRadixCache"), None, "0.5.15.post1", "the tree cache is a MambaRadixCache"),
    (
        re.compile("impl=UnifiedRadixCache.{0,80}hybrid_ssm=True.{0,80}hicache_attached=False"),
        "0.5.16",
        None,
        "the tree cache of a hybrid is a UnifiedRadixCache without a host tier",
    ),
    (re.compile(r"ReplaySSMringbuffersallocated\(L="), None, "0.5.16", "ring buffers are announced with `L=`"),
    (re.compile(r"ReplaySSMringbuffersallocated\(record_len="), "0.5.17", None, "ring buffers carry `record_len=`"),
    (re.compile(r"cappedto-?[\d,]+bythemambastatecache"), "0.5.17", None, "the state cap is announced"),
    (re.compile("oftheKVbudgetforpost-sizingmultimodal"), "0.5.18", None, "KV budget is reserved for images"),
    (
        re.compile("DisablingbreakableprefillCUDAgraphbydefaultforpipeline"),
        "0.5.19",
        None,
        "breakable prefill graphs are off under pipeline parallelism",
    ),
    (re.compile("BreakableCUDAgraphisincompatiblewithKDA"), "0.5.20", None, "breakable graphs are refused for KDA"),
    (
        re.compile("BreakableCUDAgraphisincompatiblewithNemotronH"),
        "0.5.17",
        "0.5.17",
        "breakable graphs are refused for Nemotron-H",
    ),
    (re.compile("Inittorchdistributedends"), None, "0.5.20", "the process group line carries the memory use"),
    (re.compile("Memorybaselinetaken"), "0.5.21", None, "the memory baseline is announced"),
    (re.compile("HiCacheauto-sizing:"), "0.5.21", None, "the host tier sizes itself"),
    (re.compile("UsingthePythonTreeCore"), "0.5.21", None, "the tree has a native core"),
)
_ARGUMENTS = (
    ("enable_gdn_replayssm_spec", "0.5.16", "0.5.16"),
    ("enable_linear_replayssm_spec", "0.5.17", None),
    ("hicache_host_memory_mode", "0.5.19", None),
    ("radix_eviction_policy_config", "0.5.20", None),
    ("hicache_host_memory_fraction", "0.5.21", None),
    ("enable_kv_cache_sharding", "0.5.22", None),
    ("enable_paged_experts", "0.5.23", None),
)
_STATED = re.compile(
    r"(?:sglang(?:[ =:_-]+(?:version)?[ =:]*v?|:v)|[\"']?\bversion[\"']?[ =:]+[\"']?v?)"
    r"(0\.\d{1,4}\.\d{1,4}(?!\d)(?:\.?(?:post|rc|dev)\d{1,4}(?!\d))?)",
    re.IGNORECASE,
)
MAX_STATED_CHARS = 2_000
"""Longer lines are dumps of arguments, in which other versions stand."""
RELEASES = ("0.5.15.post1", "0.5.16", "0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
"""Releases whose boundaries are known, oldest first."""


def line_hints(record: Record) -> Iterator[ReleaseHint]:
    """What one line tells about the release."""
    for pattern, first, last, why in _LINES:
        if pattern.search(record.squeezed):
            yield ReleaseHint(first=first, last=last, why=why)
    stated = _STATED.search(record.text) if "0." in record.text and len(record.text) < MAX_STATED_CHARS else None
    if stated:
        yield ReleaseHint(first=stated[1], last=stated[1], why="the log states it")


def argument_hints(launch: Launch) -> Iterator[ReleaseHint]:
    """What the names of dumped arguments tell: each name is there from one release on, and the whole dump is shown."""
    if launch.form != "arguments":
        return
    form = launch.values.get("_form")
    if form == "call":
        yield ReleaseHint(first=None, last="0.5.18", why="arguments are dumped as a call")
    else:
        yield ReleaseHint(first="0.5.19", last=None, why="arguments are dumped as a mapping")
    for name, first, last in _ARGUMENTS:
        if name in launch.values:
            yield ReleaseHint(first=first, last=last, why=f"the arguments name `{name}`")


def version_text(hints: Sequence[ReleaseHint]) -> str | None:
    """One release, a range such as `0.5.17..0.5.20` or `>=0.5.17`, or None where nothing tells."""
    stated = [hint.first for hint in hints if hint.first and hint.why == "the log states it"]
    if stated:
        return stated[-1]
    firsts = [hint.first for hint in hints if hint.first]
    lasts = [hint.last for hint in hints if hint.last]
    first = max(firsts, key=release_order, default=None)
    last = min(lasts, key=release_order, default=None)
    if first and last:
        return first if first == last else f"{first}..{last}"
    if first:
        return f">={first}"
    return f"<={last}" if last else None


def release_order(version: str) -> tuple[int, ...]:
    """A sortable form of a release name."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def known_releases(version: str | None) -> tuple[str, ...]:
    """The known releases that a version text allows, newest first; all of them for None."""
    if version is None:
        return RELEASES[::-1]
    low, separator, high = version.partition("..")
    if version.startswith(">="):
        low, high = version[2:], RELEASES[-1]
    elif version.startswith("<="):
        low, high = RELEASES[0], version[2:]
    elif not separator:
        high = low
    allowed = [name for name in RELEASES if release_order(low) <= release_order(name) <= release_order(high)]
    return tuple(reversed(allowed))
