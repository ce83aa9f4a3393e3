"""Mangled pastes to records: wraps, colours, prefixes, progress bars, several messages on a line."""

import io

import pytest

from poolsplit.engines.sglang.boot_log.records import RecordReader
from poolsplit.engines.sglang.boot_log.scan import Scanner

LINE = "[2026-04-14 16:08:49 TP1] Memory pool end. avail mem=4.49 GB"


def records(text, *, complete=True):
    reader = RecordReader()
    raw = text if isinstance(text, bytes) else text.encode()
    found = [record for line in raw.split(b"\n") for record in reader.feed(line)]
    return [*found, *reader.finish(complete=complete)]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (LINE, "TP1"),
        ("[2026-10-08 TP0 EP0] Memory pool end. avail mem=4.49 GB", "TP0 EP0"),
        ("[16:08:49 DP1 TP1 EP1] Memory pool end. avail mem=4.49 GB", "DP1 TP1 EP1"),
        ("[2026-04-14 16:08:49,123] Memory pool end. avail mem=4.49 GB", "-"),
        ("[TP0..TP3] Memory pool end. avail mem=4.49 GB", "TP0..TP3"),
        ("[TP0..3]   Memory pool end. avail mem=4.49 GB", "TP0..3"),
        ("sglang-1  | [2026-04-14 16:08:49 TP1] Memory pool end. avail mem=4.49 GB", "TP1"),
        ("2026-04-14T16:08:49.000Z [2026-04-14 16:08:49 PP1 TP1] Memory pool end. avail mem=4.49 GB", "PP1 TP1"),
        ("\x1b[32m[2026-04-14 16:08:49 TP1]\x1b[0m Memory pool end. avail mem=4.49 GB", "TP1"),
        ("> " + LINE, "TP1"),
        (LINE + "\r", "TP1"),
        ("Memory pool end. avail mem=4.49 GB", "-"),
    ],
)
def test_labels_are_kept_verbatim(text, label):
    (record,) = records(text)
    assert (record.label, record.squeezed) == (label, "Memorypoolend.availmem=4.49GB")


def test_two_messages_on_one_line():
    first, second = records(LINE + LINE.replace("TP1", "TP0"))
    assert (first.label, second.label) == ("TP1", "TP0")
    assert first.squeezed == second.squeezed


def test_progress_bars_go():
    text = "Capturing batches (bs=1 avail_mem=3.80 GB): 100%|7/7 [00:04<00:00,  1.72it/s]" + LINE
    (record,) = records(text)
    assert record.label == "TP1"
    redrawn = "Loading:   0% | 0/4 [00:00<?, ?it/s]\rLoading: 100% | 4/4 [00:03<00:00, 1.07it/s]\r" + LINE
    assert [record.label for record in records(redrawn)] == ["TP1"]


@pytest.mark.parametrize("width", range(30, 120, 7))
def test_wrapped_at_any_column(width):
    text = (
        "Mamba Cache is allocated. max_mamba_cache_size: 43, conv_state size: 0.12GB, ssm_state size: 3.09GB "
        "intermediate_ssm_state_cache size: 2.11GB intermediate_conv_window_cache size: 0.04GB"
    )
    wrapped = "\n".join(text[at : at + width] for at in range(0, len(text), width))
    (record,) = records(wrapped)
    assert record.squeezed == text.replace(" ", "")
    assert record.wrapped


def test_a_blank_line_ends_a_record():
    assert len(records("Mamba Cache is allocated.\n\nmore words")) == 2


def test_bare_rank_summaries_on_one_line():
    found = records("PP0 max_mamba_cache_size: 26 conv_state 0.05GB; PP1 max_mamba_cache_size: 26 conv_state 0.04GB")
    assert [(record.label, record.squeezed) for record in found] == [
        ("PP0", "max_mamba_cache_size:26conv_state0.05GB;"),
        ("PP1", "max_mamba_cache_size:26conv_state0.04GB"),
    ]


def test_a_number_that_may_be_cut_is_dropped():
    (record,) = records("max_total_num_tokens=3273", complete=False)
    assert record.squeezed == "max_total_num_tokens="
    (record,) = records("max_total_num_tokens=3273")
    assert record.squeezed == "max_total_num_tokens=3273"


def test_broken_bytes_are_read():
    (record,) = records(b"\xff\xfe[2026-04-14 16:08:49 TP1] Memory pool end. avail mem=4.49 GB \xc3\x28")
    assert record.label == "TP1"


def test_long_lines_are_bounded():
    (record,) = records("Mamba Cache is allocated. " + "x" * 1_000_000)
    assert len(record.text) <= 200_000


def test_one_very_long_line_is_read_in_bounded_time():
    text = b"Capturing 1% 1/1 [" * 60_000 + b"Mamba Cache is allocated. " * 4_000
    scan = Scanner("log").run(io.BytesIO(text))
    assert len(scan.events) <= 2
