"""Memory and time of a watch over many looks at a full metrics page with time passing, restarts and label churn.

    .venv/bin/python bench/watch_memory.py [--looks 100000]

Exit 1 when resident memory grows by more than 8 MiB after the first tenth, or when a look takes longer than 60 parses
of one line with the exposition parser (both timed in this run).
"""

import argparse
import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from live_server import Engine  # noqa: E402
from poolsplit.answers.live.expect import expecter  # noqa: E402
from poolsplit.answers.live.watch import EXPORTER  # noqa: E402
from poolsplit.live.exposition import wanted_lines  # noqa: E402
from poolsplit.live.scrape import RawScrape  # noqa: E402
from poolsplit.live.session import Judging, Watch  # noqa: E402

MAX_GROWTH_MIB = 8.0
MAX_PARSES_A_LOOK = 60
RESTART_EVERY = 5000
CHURN = 200
"""Different values of a label that a user of the server may choose."""


def resident_mib() -> float:
    """Resident memory of this process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def pages(looks: int) -> Iterator[str]:
    """Metrics pages, one a look: gauges of a page as the engine exports it, counters that grow and restart."""
    gauges = Engine().page()
    counters = (
        "prefill_effective_tokens_total",
        "num_requests_total",
        "prompt_tokens_total",
        "generation_tokens_total",
    )
    for number in range(looks):
        since = number % RESTART_EVERY
        lines = [
            f'sglang:{name}{{model_name="m",mode="input",tenant="t{number % CHURN}"}} {since * (at + 1)}'
            for at, name in enumerate(counters)
        ]
        yield gauges + "\n".join(lines) + "\n"


def parse_s() -> float:
    """Time of one line with the exposition parser."""
    from prometheus_client.parser import text_string_to_metric_families

    line = next(iter(wanted_lines(Engine().page(), EXPORTER.is_wanted)))
    start = time.perf_counter()
    for _ in range(2000):
        list(text_string_to_metric_families(line))
    return (time.perf_counter() - start) / 2000


def main() -> int:
    """Prints growth and time a look."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--looks", type=int, default=100_000)
    looks = parser.parse_args().looks
    watch, info = Watch(EXPORTER, Judging(expect=expecter(None))), Engine().server_info()
    size, settled, spent_s = 0, 0.0, 0.0
    for number, page in enumerate(pages(looks)):
        if number == looks // 10:
            gc.collect()
            settled = resident_mib()
        start = time.perf_counter()
        tick = watch.tick(number, [RawScrape(server="http://a", time_s=10.0 * number, metrics=page, info=info)])
        spent_s += time.perf_counter() - start
        size = len(page)
        assert len(tick.judged) == 1
    gc.collect()
    growth, look_s, line_s = resident_mib() - settled, spent_s / looks, parse_s()
    print(f"{looks:,} looks at a page of {size / 1024:.0f} KiB: {growth:+.2f} MiB after the first tenth")
    print(f"a look takes {look_s * 1e3:.2f} ms, {look_s / line_s:.1f} times the parse of one line")
    return int(growth > MAX_GROWTH_MIB or look_s > MAX_PARSES_A_LOOK * line_s)


if __name__ == "__main__":
    sys.exit(main())
