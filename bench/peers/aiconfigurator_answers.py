"""Asks AIConfigurator's KV-cache estimate for each case: lines of JSON in, lines of JSON out.

Run by `bench/comparison.py` with the Python of an environment that holds AIConfigurator and nothing of ours.
"""

import json
import logging
import math
import re
import sys
import tempfile
from pathlib import Path

from aiconfigurator_core.sdk.memory import estimate_kv_cache

FRACTION = 0.9


def estimate(folder: str, case: dict, card_bytes: int | None) -> dict:
    """Its estimate on a card of the given size, its own H200 by default."""
    return estimate_kv_cache(
        folder,
        "h200_sxm",
        "sglang",
        "current",
        max_num_tokens=8192,
        max_batch_size=64,
        memory_fraction_kind="of_total",
        memory_fraction_value=FRACTION,
        tp_size=case["tp"],
        moe_tp_size=case["tp"],
        moe_ep_size=1,
        gpu_memory_capacity_bytes_override=card_bytes,
    )


def answer(case: dict) -> dict:
    """KV tokens on a card that leaves the cache the case's bytes, beside what the tool itself counts as used."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(case["config"]), encoding="utf-8")
        try:
            first = estimate(folder, case, None)
            used = first["total_gpu_capacity_bytes"] * FRACTION - first["total_kv_size_bytes"]
            found = estimate(folder, case, math.ceil((used + case["pool_bytes"]) / FRACTION))
        except ValueError as error:
            found = re.search(r"gpu_sku=\S+: (.*?)(?:\. Supported|$)", str(error))
            return {"refused": found[1] if found else str(error)}
    return {"tokens": found["total_kv_size_tokens"]}


logging.disable(logging.CRITICAL)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
