"""Runs hf-mem's own command for each case, with the hub answered from the case: lines of JSON in, lines of JSON out.

Run by `bench/comparison.py` with the Python of an environment that holds hf-mem and nothing of ours.
"""

import contextlib
import io
import json
import struct
import sys
import warnings

import httpx2
from hf_mem.cli import main

HEADER = json.dumps({"w": {"dtype": "BF16", "shape": [1024], "data_offsets": [0, 2048]}}).encode()
"""A weights file of one tensor: the weights are not what is asked for."""
CLIENT = httpx2.AsyncClient


def hub(config: dict) -> object:
    """A client whose hub knows one model."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        if "/api/models/" in request.url.path:
            names = ("config.json", "model.safetensors")
            return httpx2.Response(200, json=[{"type": "file", "path": name} for name in names])
        if request.url.path.endswith("config.json"):
            return httpx2.Response(200, json=config)
        return httpx2.Response(206, content=struct.pack("<Q", len(HEADER)) + HEADER)

    return lambda **_: CLIENT(transport=httpx2.MockTransport(answer))


def answer(case: dict) -> dict:
    """Bytes of one request of the case's context, over the whole model."""
    httpx2.AsyncClient = hub(case["config"])
    sys.argv = ["hf-mem", "--model-id", "made/up", "--experimental", "--json-output"]
    sys.argv += ["--max-model-len", str(case["context_tokens"])]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            main()
    except Exception as error:  # noqa: BLE001  whatever it says is its answer
        return {"refused": f"{type(error).__name__}: {error}"}
    found = json.loads(printed.getvalue())["kv_cache"]
    return {"refused": "no figure for the cache"} if found is None else {"request_bytes": found}


warnings.simplefilter("ignore")
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
