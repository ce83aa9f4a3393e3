"""Status lines, findings and bars for people."""

import pytest

from live_looks import Looks, judge
from live_server import Engine
from poolsplit.live.document import iso_time, sample_document, tick_documents
from poolsplit.report.watch_line import finding_blocks, warning_lines, watch_line
from poolsplit.report.watch_view import pool_bar, watch_view


def document(engine=None, **changes):
    return sample_document(judge(engine or Engine(**changes)), engine="sglang")


def test_a_status_line_has_both_pools_and_what_stops():
    line = watch_line(document())
    assert line == (
        "00:00:20  run 20/20 queue 4  state 97% used 1% kept of 100  kv 25% used 35% kept of 1,000,000  ctx 8.2k  "
        "reuse 40%  retracted 0  stops state"
    )


def test_tiers_below_the_device_are_named():
    watched, engine = Looks(), Engine()
    watched(engine)
    engine.serve(computed=500, cached=200)
    engine.add("prefill_effective_tokens_total{mode=host_hit}", 300)
    found = sample_document(watched(engine).judged[0], engine="sglang")
    assert "reuse 50% (host 30%)" in watch_line(found)


def test_the_host_tier_and_the_other_side_have_their_part():
    line = watch_line(document(host=(10, 1000, 95, 100), queues=(1, 0, 2, 0)))
    assert "host states 95% kv 1%  between 3" in line
    assert "host kv 1%" in watch_line(document(host=(10, 1000, None, None)))


def test_what_is_unknown_is_a_dash():
    line = watch_line(document(state=(0, 0, 0), running=0, live_context=0, queued=0, info={"internal_states": []}))
    assert "run 0 queue 0" in line
    assert "state -" in line
    assert "ctx -" in line
    assert "stops -" in line


def test_what_waits_under_a_cap_that_is_not_told_is_stopped_by_the_unknown():
    found = document(state=(10, 10, 80), queued=4, info={"internal_states": []})
    assert watch_line(found).endswith("stops unknown")
    assert found["binding_reason"] == "requests wait, and the server does not tell its request cap"


def test_a_server_without_an_answer():
    assert watch_line({"server": "http://a", "error": "gone"}) == "http://a  no answer: gone"


def test_blocks_hold_text_evidence_and_flags():
    blocks = finding_blocks(document())
    head, *rest = blocks["granted_below_requested"]
    assert head.startswith("warning: a worker admits 20 requests")
    assert rest[-1].startswith("    change: --mamba-radix-cache-strategy extra_buffer_lazy")


def test_missing_series_are_one_warning():
    assert warning_lines({"warnings": ["a"], "missing": ["x", "y"]}) == ["a", "2 series are missing, such as x"]


@pytest.mark.parametrize(
    ("pool", "bar"),
    [
        (None, "-"),
        ({"used": 0, "evictable": 0, "available": 0, "capacity": 0}, "-"),
        ({"used": 5, "evictable": 3, "available": 2, "capacity": 10}, "█████▒▒▒··"),
        ({"used": 1, "evictable": 0, "available": 999, "capacity": 1000}, "█·········"),
        ({"used": 10, "evictable": 0, "available": 0, "capacity": 10}, "██████████"),
        ({"used": 9, "evictable": 1, "available": 0, "capacity": 10}, "█████████▒"),
    ],
)
def test_a_bar_shows_the_three_parts(pool, bar):
    assert pool_bar(pool, cells=10) == bar


def test_the_view_draws_every_rank_and_the_fleet():
    from rich.console import Console

    tick = Looks()(Engine(dp_ranks=(0, 1), dp_labels=True), Engine())
    console = Console(width=120, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with console.file:
        console.print(watch_view(tick_documents(tick, engine="sglang")))
    text = console.export_text()
    assert "DP1 PP0" in text
    assert "fleet of 2" in text


def test_times_are_in_utc():
    assert iso_time(0) == "1970-01-01T00:00:00Z"
