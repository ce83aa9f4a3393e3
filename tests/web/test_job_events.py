"""What a listener hears of a job, however slowly it listens."""

import asyncio
import sys

from poolsplit.web.jobs import Job

TELLS = """
import sys, time
for number in range(int(sys.argv[1])):
    print('progress\\t{"done": %d}' % number, flush=True)
print('result\\t{"document": {}}', flush=True)
"""


async def told_by(code, *arguments, limit=1 << 16):
    """A job whose process runs some code."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, *arguments, stdin=pipe, stdout=pipe, limit=limit
    )
    return Job(process)


async def heard(job, pause_s=0.0):
    """Names of events as a listener gets them who pauses after each."""
    names = []
    async for text in job.events():
        if text.startswith(b"event: "):
            names.append(text.split(b"\n")[0].removeprefix(b"event: ").decode())
        await asyncio.sleep(pause_s)
    return names


def test_the_end_is_heard_by_who_was_slow_before_it():
    async def slow():
        job = await told_by(TELLS, "1")
        return await heard(job, pause_s=0.5)

    assert asyncio.run(slow())[-1] == "result"


def test_who_is_slow_skips_what_is_old():
    async def slow():
        job = await told_by(TELLS, "500")
        return await heard(job, pause_s=0.2)

    names = asyncio.run(slow())
    assert names[-1] == "result"
    assert len(names) < 20


def test_an_event_beyond_all_measure_ends_the_job():
    async def endless_line():
        job = await told_by("print('x' * 1_000_000)", limit=1000)
        return await heard(job)

    assert asyncio.run(endless_line()) == ["error"]


def test_a_process_that_says_nothing_is_an_error():
    async def silent():
        return await heard(await told_by("raise SystemExit(3)"))

    assert asyncio.run(silent()) == ["error"]
