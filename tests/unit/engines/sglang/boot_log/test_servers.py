"""Files of other servers are never read as one server's ranks or later starts."""

import pytest

from boot_log_text import cap_line, kv_line, stamped, state_line
from log_reading import read
from poolsplit.engines import other_engines
from poolsplit.engines.sglang.boot_log import read_files
from poolsplit.errors import InputError

POOLS = [state_line(slots=50, conv_bytes=1 << 20, ssm_bytes=4 << 30), kv_line(tokens=1_000_000, kv_bytes=5 << 30)]


def server(label, *, model="a/b", arguments="", pools=POOLS):
    dump = f"server_args=ServerArgs(model_path='{model}', tp_size=2{arguments})"
    return "\n".join(stamped(label, [dump, *pools])) + "\n"


def read_texts(tmp_path, *texts):
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.log").write_text(text)
    return read_files([str(tmp_path)], other_forms=other_engines.FORMS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (server("TP0", model="a/b"), server("TP1", model="a/c")),
        (server("TP0", model="a/b"), server("TP0", model="a/c")),
        (server("TP0"), server("TP1", arguments=", mamba_full_memory_ratio=2.0").replace("tp_size=2", "tp_size=4")),
        (
            server("TP0", arguments=", disaggregation_mode='prefill'"),
            server("TP0", arguments=", disaggregation_mode='decode'"),
        ),
        (server("TP0"), "INFO 11-02 10:00:00 [kv_cache_utils.py:1] GPU KV cache size: 100,000 tokens\n"),
    ],
)
def test_two_servers_are_refused_by_name(tmp_path, one, other):
    with pytest.raises(InputError, match="of 2 servers") as raised:
        read_texts(tmp_path, one, other)
    assert "poolsplit read " in raised.value.hint
    assert "0.log" in raised.value.hint


@pytest.mark.parametrize(
    ("other", "boots", "ranks"),
    [
        (server("TP1"), 1, {"TP0", "TP1"}),
        (server("TP0", arguments=", mamba_full_memory_ratio=2.0"), 2, {"TP0"}),
        (server("TP0", model="/models/b"), 2, {"TP0"}),
    ],
)
def test_ranks_and_later_starts_of_one_server_are_not(tmp_path, other, boots, ranks):
    report = read_texts(tmp_path, server("TP0"), other)
    assert (len(report.boots), set(report.last.ranks)) == (boots, ranks)


@pytest.mark.parametrize(("first", "second"), [("TP0", "-"), ("-", "TP0")])
def test_pools_with_and_without_a_rank_are_two_starts(first, second):
    def lines(label):
        return "\n".join(POOLS if label == "-" else stamped(label, POOLS)) + "\n"

    report = read(lines(first), lines(second))
    assert [set(boot.ranks) for boot in report.boots] == [{first}, {second}]


def test_a_cap_of_other_slots_stays_with_its_own_start():
    capped = "\n".join([*POOLS, cap_line(requests=10, slots=50, per_request=5)]) + "\n"
    other = state_line(slots=43, conv_bytes=1 << 20, ssm_bytes=3 << 30) + "\n"
    report = read(capped, other)
    assert [boot.cap and boot.cap.granted for boot in report.boots] == [10, None]
