"""Reading one stream: what repeats is read once, and what differs is not taken for what went before."""

import io

from poolsplit.engines.boot_facts import Launch
from poolsplit.engines.sglang.boot_log.scan import RECENT_RECORDS, Scanner

LINE = "python -m sglang.launch_server --model-path a/b --tp {}\n"


def scan(text, forms=()):
    return Scanner("log", forms).run(io.BytesIO(text.encode()))


def launches(scanned):
    return [event.fact.values["tp_size"] for event in scanned.events if isinstance(event.fact, Launch)]


def test_a_line_that_repeats_is_read_once():
    seen = []

    def form(text):
        seen.append(text)

    scanned = scan(LINE.format(2) * 500, (form,))
    assert (len(seen), launches(scanned)) == (1, [2] * 500)


def test_lines_that_differ_are_each_read():
    count = RECENT_RECORDS * 3
    scanned = scan("".join(LINE.format(number) for number in [*range(count), 0]))
    assert launches(scanned) == [*range(count), 0]


def test_a_rank_of_absurd_length_is_no_rank():
    line = f"[TP{'9' * 6000}] max_total_num_tokens=5, max_running_requests=1, context_len=1, available_gpu_mem=1.0 GB\n"
    assert all(event.label == "-" for event in scan(line).events)
