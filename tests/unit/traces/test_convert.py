"""Writing traces: what each format cannot say is listed, and what it cannot hold is refused."""

import json

import pytest

from poolsplit.errors import InputError, MissingExtraError, UsageError
from poolsplit.traces.convert import prepare
from poolsplit.traces.reblock import reblock
from trace_samples import SAMPLES, WEKA_SESSION, jsonl, kept_tokens, read, written


def _converted(tmp_path, trace, target, **options):
    writer, lost = prepare(trace, target, options.pop("to_block_tokens", None))
    path = tmp_path / f"out.{target}"
    with path.open("wb") as out:
        writer(out)
    return read(path, **options), lost


@pytest.fixture
def weka(tmp_path):
    return read(written(tmp_path, "weka", jsonl(WEKA_SESSION)))


@pytest.fixture
def mooncake(tmp_path):
    return read(written(tmp_path, "mooncake", SAMPLES["mooncake"].content))


LOST_OF_WEKA = {
    "pst": [],
    "weka": [],
    "mooncake": ["the block size", "one session", "clock of its own", "subagents", "think", "service"],
    "bailian": ["the block size", "clock of its own", "subagents", "think", "service"],
    "token-trace": ["clock of its own", "subagents", "think", "service"],
    "azure": ["share a prefix", "one session", "clock of its own", "subagents", "think", "service"],
    "burstgpt": ["share a prefix", "clock of its own", "subagents", "think", "service"],
}


@pytest.mark.parametrize("target", sorted(LOST_OF_WEKA))
def test_what_is_lost_is_listed(weka, target):
    _, lost = prepare(weka, target, None)
    for line, word in zip(lost, [*LOST_OF_WEKA[target], "model names"], strict=True):
        assert word in line


def test_nothing_is_lost_where_the_format_can_say_it(mooncake):
    assert prepare(mooncake, "mooncake", None)[1] == []
    assert prepare(mooncake, "pst", None)[1] == []


def test_a_mooncake_trace_is_written_as_it_was(tmp_path, mooncake):
    back, _ = _converted(tmp_path, mooncake, "mooncake")
    assert back.arrival_s.tolist() == mooncake.arrival_s.tolist()
    assert kept_tokens(back) == kept_tokens(mooncake)
    assert (tmp_path / "out.mooncake").read_bytes().startswith(b'{"timestamp":0,"input_length":1000,')


def test_a_weka_trace_is_written_as_it_was(tmp_path, weka):
    back, _ = _converted(tmp_path, weka, "weka")
    for name in ("arrival_s", "agent", "after", "parent", "kept_blocks", "new_blocks", "think_s", "service_s"):
        assert getattr(back, name)[1:].tolist() == getattr(weka, name)[1:].tolist(), name


def test_blocks_of_one_token_are_spelled_in_blocks_of_the_format(tmp_path):
    rows = [{"input_tokens": list(range(k, 1600 + k * 500)), "num_output_tokens": 1, "ts": k} for k in (0, 0, 1)]
    trace = read(written(tmp_path, "tokens", jsonl(*rows)))
    back, lost = _converted(tmp_path, trace, "mooncake")
    assert kept_tokens(back) == [0, 1536, 0]
    assert any("blocks grow from 1 to 512" in line for line in lost)
    small, _ = _converted(tmp_path, trace, "mooncake", to_block_tokens=64, block_tokens=64)
    assert kept_tokens(small) == [0, 1600, 0]


def test_block_sizes_that_do_not_divide(mooncake):
    with pytest.raises(InputError, match="cannot become"):
        reblock(mooncake, 100)


def test_lengths_only_cannot_be_given_blocks(tmp_path):
    azure = read(written(tmp_path, "azure", SAMPLES["azure"].content))
    with pytest.raises(InputError, match="lengths only"):
        prepare(azure, "weka", None)
    back, _ = _converted(tmp_path, azure, "mooncake")
    assert back.block_tokens is None
    again, lost = _converted(tmp_path, azure, "azure")
    assert again.arrival_s.tolist() == pytest.approx(azure.arrival_s.tolist(), abs=1e-7)
    assert lost == []


def test_an_order_has_no_times_to_write(tmp_path):
    chat = read(written(tmp_path, "chat", SAMPLES["sharegpt"].content))
    for target in ("weka", "bailian", "azure", "burstgpt"):
        with pytest.raises(InputError, match="needs times"):
            prepare(chat, target, None)
    back, _ = _converted(tmp_path, chat, "mooncake", block_tokens=64)
    assert back.origin.clock == "order"
    assert kept_tokens(back) == kept_tokens(chat)


def test_an_unknown_target(mooncake):
    with pytest.raises(UsageError, match="cannot be written"):
        prepare(mooncake, "tracelab", None)


def test_parquet_rows_are_read_as_lines(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(line) for line in SAMPLES["mooncake"].content.splitlines()]
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), path)
    trace = read(path)
    assert trace.origin.format == "mooncake"
    assert kept_tokens(trace) == SAMPLES["mooncake"].reused_tokens
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="Parquet"):
        read(path)


def test_parquet_without_its_package_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError) as caught:
        read(written(tmp_path, "rows.parquet", b"PAR1"))
    assert "pip install" in caught.value.hint
