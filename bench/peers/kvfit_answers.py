"""Runs kvfit's own command for each case, with the hub answered from the case: lines of JSON in, lines of JSON out.

Run by `bench/comparison.py` with the Python of an environment that holds kvfit and nothing of ours.
"""

import contextlib
import io
import json
import sys

from kvfit import cli, hf

GIB = 2**30
WEIGHTS_BYTES = 10 * GIB
"""Weights on each card, the same for every case: the card is given as large as them and the bytes of both pools."""


class Reply(io.BytesIO):
    """An answer of the hub."""

    status = 200
    headers: dict = {}  # noqa: RUF012  read, never written


def hub(case: dict) -> object:
    """A hub that knows one model."""
    siblings = [{"rfilename": "config.json", "size": 1}, {"rfilename": "w.safetensors", "size": weights_bytes(case)}]

    def answer(request: object, timeout: float | None = None) -> Reply:  # noqa: ARG001  as it is called
        listing = {"siblings": siblings, "sha": "0" * 40}
        return Reply(json.dumps(case["config"] if request.full_url.endswith("/config.json") else listing).encode())

    return answer


def weights_bytes(case: dict) -> int:
    """Weights of all cards."""
    return WEIGHTS_BYTES * case["tp"]


def answer(case: dict) -> dict:
    """Requests at once, and bytes of one request on one card."""
    hf.urlopen = hub(case)
    card_gib = (WEIGHTS_BYTES + case["pool_bytes"]) / GIB
    words = ["made/up", "--hardware", "h200", "--gpus", case["tp"], "--tp", case["tp"], "--utilization", 1, "--json"]
    words += ["--context", case["context_tokens"], "--device-memory-gib", card_gib]
    printed, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
        code = cli.main([str(word) for word in words])
    if code != 0 and not printed.getvalue():
        return {"refused": complained.getvalue().splitlines()[0].removeprefix("kvfit: ")}
    best = json.loads(printed.getvalue())["concurrency"]["recommended"]
    layout = best["layout"]
    return {
        "requests": best["active_sequences"],
        "rank_request_bytes": round(layout["kv_per_sequence_per_rank_gib"] * GIB),
    }


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
