"""How fast a long run-time log is read, beside `grep -c` over the same file in the same run, and in how much memory.

    python bench/read_speed.py [--megabytes 1000] [--folder /tmp]

Two files: periodic lines alone, the worst case, and periodic lines among access lines, as servers write them.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

MEGABYTE = 10**6
BLOCK_LINES = 20_000
READ = (
    "import sys, resource; from poolsplit import api; answer = api.read_log([sys.argv[1]]); "
    "print(answer.report.last.runtime.samples, "
    "*(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))"
)


def periodic_line(draw: random.Random, second: int) -> str:
    """A decode line, or every third time a prefill line."""
    time_text = f"[2026-11-02 {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d} TP0]"
    running, queue, used = draw.randint(1, 96), draw.choice((0, 0, 0, 4, 17)), draw.randint(10_000, 2_300_000)
    usage, slots = used / 2_400_000, draw.randint(100, 427)
    if second % 3 == 0:
        return (
            f"{time_text} Prefill batch, #new-seq: 1, #new-token: {draw.randint(1, 8192)}, "
            f"#cached-token: {draw.randint(0, 60_000)}, full token usage: {usage:.2f}, mamba usage: {slots / 427:.2f}, "
            f"#running-req: {running}, #queue-req: {queue}, #pending-token: 0, cuda graph: False, "
            f"input throughput (token/s): {draw.random() * 9000:.2f}\n"
        )
    return (
        f"{time_text} Decode batch, #running-req: {running}, #full token: {used}, full token usage: {usage:.2f}, "
        f"mamba num: {slots}, mamba usage: {slots / 427:.2f}, accept len: 2.75, accept rate: 0.69, cuda graph: True, "
        f"gen throughput (token/s): {draw.random() * 2000:.2f}, #queue-req: {queue}\n"
    )


def access_line(draw: random.Random, second: int) -> str:
    """An access line of the HTTP server."""
    port = draw.randint(20_000, 60_000)
    time_text = f"[2026-11-02 {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}]"
    return f'{time_text} INFO:     10.0.0.7:{port} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def write_log(path: pathlib.Path, megabytes: int, *, access: int) -> None:
    """A log of about this size with `access` access lines for each periodic line; blocks of it repeat."""
    draw = random.Random(7)  # noqa: S311  no secret is drawn
    lines = []
    for second in range(BLOCK_LINES):
        lines.append(periodic_line(draw, second))
        lines.extend(access_line(draw, second) for _ in range(access))
    block = "".join(lines).encode()
    with path.open("wb") as handle:
        for _ in range(max(1, megabytes * MEGABYTE // len(block))):
            handle.write(block)


def measure(name: str, path: pathlib.Path) -> None:
    """Prints both speeds and the memory of the reading process."""
    size = path.stat().st_size
    start = time.perf_counter()
    grep = subprocess.run(
        ["grep", "-c", "batch", str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    grep_s = time.perf_counter() - start
    start = time.perf_counter()
    read = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    read_s = time.perf_counter() - start
    samples, *peaks_kib = read.stdout.split()
    assert samples == grep.stdout.strip(), (samples, grep.stdout)
    print(
        f"{name}: {size / MEGABYTE:.0f} MB, {int(samples):,} samples: {size / read_s / MEGABYTE:.0f} MB/s with the "
        f"process's start, grep -c {size / grep_s / MEGABYTE:.0f} MB/s, ratio {read_s / grep_s:.1f}, "
        f"peak memory {max(map(int, peaks_kib)) / 1024:.0f} MiB a process"
    )


def main() -> None:
    """Writes both files and measures them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, access in (("periodic lines alone", 0), ("with access lines", 3)):
            path = pathlib.Path(folder) / "server.log"
            write_log(path, options.megabytes, access=access)
            measure(name, path)


if __name__ == "__main__":
    main()
