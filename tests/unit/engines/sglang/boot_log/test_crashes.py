"""A server that stopped for another reason than its sizes: what was raised is found, however long its call stack."""
# ruff: noqa: E501  lines as the engine prints them

import pytest

from boot_log_text import kv_line, state_line
from log_reading import findings, read

START = "".join(
    f"[2026-11-01 09:00:00 TP{rank}] {line}\n"
    for rank in (0, 1)
    for line in (
        state_line(slots=50, conv_bytes=51 << 20, ssm_bytes=51 * (99 << 20)),
        kv_line(tokens=1_000_000, kv_bytes=20_480_000_000),
    )
)
DECODE = "[2026-11-01 10:00:00 TP0] Decode batch, #running-req: 3, #full token: 100, full token usage: 0.00, mamba num: 3, mamba usage: 0.06, gen throughput (token/s): 1.0, #queue-req: 0\n"
ENDED = "[2026-11-01 10:00:02] SIGQUIT received. signum=3, frame=<frame at 0x1>. It usually means one child failed.\n"
FRAME = '  File "/x/sglang/srt/managers/scheduler.py", line 100, in step\n    self.forward(batch)\n    ^^^^^^^^^^^^^^^^^^^\n'
ILLEGAL = (
    "RuntimeError: CUDA error: an illegal memory access was encountered\n"
    "CUDA kernel errors might be asynchronously reported at some other API call.\n"
)


def report(raised, *, frames=3, process="Scheduler"):
    head = f"[2026-11-01 10:00:01 TP1] {process} hit an exception: Traceback (most recent call last):\n"
    return START + DECODE + head + FRAME * frames + raised + "\n" + ENDED


@pytest.mark.parametrize("frames", [1, 60])
def test_an_exception_is_told_by_its_last_line(frames):
    found = findings(report(ILLEGAL, frames=frames))
    crash = found["process_exception"]
    assert crash.severity == "error"
    assert "scheduler process" in crash.text
    assert "`RuntimeError: CUDA error: an illegal memory access was encountered" in crash.text
    assert "ended_without_reason" not in found


def test_a_stack_may_lie_across_the_parts_that_are_read_at_once():
    before = DECODE * (32_500 // len(DECODE))
    text = START + before + report(ILLEGAL, frames=60).removeprefix(START) + DECODE
    assert "illegal memory access" in findings(text)["process_exception"].text


def test_an_exception_without_a_message_is_one():
    assert "`AssertionError`" in findings(report("AssertionError\n"))["process_exception"].text


def test_any_process_of_the_server_may_report_one():
    text = report("KeyError: 'x'\n", process="DetokenizerManager")
    assert "detokenizermanager process" in findings(text)["process_exception"].text


def test_memory_that_ran_out_is_said_to_have_run_out_whatever_was_raised_after_it():
    chained = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        f"Traceback (most recent call last):\n{FRAME}ValueError: capture failed\n"
    )
    found = findings(report(chained))
    assert found["device_out_of_memory"].severity == "error"
    assert "process_exception" not in found


def test_an_exception_of_one_request_is_none_of_the_server():
    text = f"{START}Exception in ASGI application\nTraceback (most recent call last):\n{FRAME}ValueError: bad prompt\n"
    assert not {"process_exception", "ended_without_reason"} & set(findings(text))


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-01 10:00:02] Received sigquit from a child process. It usually means the child failed.\n",
        ENDED,
    ],
)
def test_an_end_without_a_reason_is_told_as_one(line):
    assert findings(START + DECODE + line)["ended_without_reason"].severity == "error"


def test_ranks_that_waited_in_vain():
    line = "[rank1]:[E1016 03:31:38.928 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600071 milliseconds before timing out.\n"
    found = findings(START + DECODE + line)
    assert "in 600 s" in found["collective_timeout"].text
    assert read(START + DECODE + line).last.runtime.samples == 1


@pytest.mark.parametrize(("soft", "severity"), [("False", "error"), ("True", "warning")])
def test_a_scheduler_that_hangs(soft, severity):
    line = f"[2026-11-01 10:05:00 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft={soft})\n"
    found = findings(START + DECODE + line)["watchdog_timeout"]
    assert (found.severity, "in 300 s" in found.text) == (severity, True)


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-01 10:05:00] Subprocess scheduler_0 (pid=12) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a common cause is the OS OOM killer.",
    ],
)
def test_a_killed_process(line):
    text = findings(START + line + "\n")["process_died"].text
    assert "exit code -9: it was killed" in text
