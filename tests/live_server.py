"""A real HTTP server that exports what the engine's collectors export, with a small made-up engine behind it.

Names, types and labels come from `golden/live/series.json`, which a differential test holds to the real package.
Faults are switched on by the tests: slow, wrong, huge and missing answers, restarts, keys and certificates.
"""

import contextlib
import json
import shutil
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support import GOLDEN

SERIES = json.loads((GOLDEN / "live" / "series.json").read_text(encoding="utf-8"))["families"]
PREFIX = "sglang:"


@dataclass(kw_only=True)
class Engine:
    """A made-up engine: its pools and counters as of now."""

    state: tuple[int, int, int] = (97, 1, 2)
    """Slots used, evictable, available."""
    kv: tuple[int, int, int] = (250_000, 350_000, 400_000)
    running: int = 20
    queued: int = 4
    live_context: int = 163_840
    granted: int = 20
    requested: int | None = 64
    dp_ranks: tuple[int, ...] = (0,)
    pp_ranks: tuple[int, ...] = (0,)
    tp_ranks: tuple[int, ...] = (0,)
    dp_labels: bool = False
    host: tuple[int, int, int, int] | None = None
    """Host tokens used and in all, host states used and in all."""
    queues: tuple[int, int, int, int] = (0, 0, 0, 0)
    counters: dict[str, float] = field(default_factory=dict)
    """Values of counters, by name without prefix, labelled ones as `name{label=value}`."""
    extra_labels: dict[str, str] = field(default_factory=dict)
    info: dict = field(default_factory=dict)
    """Replaces or adds keys of the info answer."""

    def serve(self, *, computed: int = 0, cached: int = 0, finished: int = 0, length: int = 8192) -> None:
        """Time passes: tokens are admitted, requests finish."""
        self.add("prefill_effective_tokens_total{mode=input}", computed)
        self.add("prefill_effective_tokens_total{mode=device_hit}", cached)
        self.add("prompt_tokens_total{is_streaming=true}", finished * (length - 128))
        self.add("generation_tokens_total{is_streaming=true}", finished * 128)
        self.add("num_requests_total{is_streaming=true}", finished)

    def add(self, name: str, value: float) -> None:
        self.counters[name] = self.counters.get(name, 0) + value

    def restart(self) -> None:
        """Counters start at zero again."""
        self.counters.clear()

    def page(self, spelling: str = PREFIX, hidden: frozenset[str] = frozenset()) -> str:
        """The exposition text of all ranks."""
        lines = []
        for full, facts in SERIES.items():
            name = full.removeprefix(PREFIX)
            if name in hidden:
                continue
            lines += [f"# HELP {spelling}{name} .", f"# TYPE {spelling}{name} {facts['type']}"]
            lines += self._samples(name, facts, spelling)
        return "\n".join(lines) + "\n"

    def _samples(self, name, facts, spelling):
        kind, labels = facts["type"], facts["labels"]
        if kind == "gauge" or (kind == "counter" and "tp_rank" in labels):
            return [
                f"{spelling}{name}{self._labels(labels, rank, given)} {value}"
                for rank in self._ranks()
                for given, value in self._values(name, kind)
            ]
        if kind == "counter":
            return [
                f"{spelling}{name}{self._labels(labels, (0, 0, 0), given)} {value}"
                for given, value in self._values(name, kind)
            ]
        total = self.counters.get(f"{name}_sum", 0)
        count = self.counters.get(f"{name}_count", 0)
        text = self._labels(labels, (0, 0, 0), {})
        bucket = text[:-1] + (',le="+Inf"}' if len(text) > 2 else 'le="+Inf"}')
        return [
            f"{spelling}{name}_sum{text} {total}",
            f"{spelling}{name}_count{text} {count}",
            f"{spelling}{name}_bucket{bucket} {count}",
        ]

    def _ranks(self):
        return [(dp, pp, tp) for dp in self.dp_ranks for pp in self.pp_ranks for tp in self.tp_ranks]

    def _values(self, name, kind):
        if kind == "counter":
            found = [(key, value) for key, value in self.counters.items() if key.partition("{")[0] == name]
            return [(_given(key), value) for key, value in found]
        value = self._gauge(name)
        return [] if value is None else [({}, value)]

    def _gauge(self, name):
        pools = {"mamba": self.state, "kv": self.kv, "swa": (0, 0, 0)}
        for pool, values in pools.items():
            for part, value in zip(("used", "evictable", "available"), values, strict=True):
                if name == f"{pool}_{part}_tokens":
                    return value
        if name.startswith("hicache_host_"):
            if self.host is None:
                return None
            order = ("used_tokens", "total_tokens", "mamba_used_states", "mamba_total_states")
            return self.host[order.index(name.removeprefix("hicache_host_"))]
        queues = ("prefill_bootstrap", "prefill_inflight", "decode_prealloc", "decode_transfer")
        named = {f"num_{queue}_queue_reqs": value for queue, value in zip(queues, self.queues, strict=True)}
        named |= {
            "num_running_reqs": self.running,
            "num_queue_reqs": self.queued,
            "decode_sum_seq_lens": self.live_context,
            "mamba_usage": _share(self.state),
            "full_token_usage": _share(self.kv),
            "token_usage": max(_share(self.state), _share(self.kv)),
            "max_total_num_tokens": sum(self.kv),
            "context_len": 262_144,
            "new_token_ratio": 0.4,
        }
        return named.get(name, 0)

    def _labels(self, names, rank, given):
        dp, pp, tp = rank
        known = {"model_name": "org/model", "engine_type": "unified", "tp_rank": tp, "pp_rank": pp, "dp_rank": dp}
        values = {name: known.get(name, 0) for name in names} | given
        if self.dp_labels and "tp_rank" in names:
            values["dp_rank"] = dp
        values |= self.extra_labels if "model_name" in names else {}
        return "{" + ",".join(f'{name}="{value}"' for name, value in values.items()) + "}"

    def server_info(self) -> dict:
        """The info answer: resolved arguments and one internal state a worker."""
        state = {
            "max_mamba_cache_size": sum(self.state),
            "mamba_full_memory_ratio": 0.9,
            "effective_max_running_requests_per_dp": self.granted,
            "memory_usage": {"kvcache": 61.035, "token_capacity": sum(self.kv), "weight": 30.0},
        }
        return {
            "model_path": "org/model",
            "served_model_name": "org/model",
            "version": "0.5.23",
            "launch_command": "python -m sglang.launch_server --model-path org/model --api-key hunter2 --tp 2",
            "max_running_requests": self.requested,
            "mamba_radix_cache_strategy": "extra_buffer",
            "mamba_full_memory_ratio": 0.9,
            "disable_radix_cache": False,
            "disable_overlap_schedule": False,
            "max_total_num_tokens": sum(self.kv),
            "api_key": "hunter2",
            "tp_size": 2,
            "dp_size": 1,
            "attn_dp_size": len(self.dp_ranks),
            "internal_states": [state for _ in self.dp_ranks],
        } | self.info

    def loads(self) -> dict:
        """The loads answer."""
        row = {
            "num_running_reqs": self.running,
            "num_waiting_reqs": self.queued,
            "num_used_tokens": self.kv[0],
            "max_total_num_tokens": sum(self.kv),
            "max_running_requests": self.granted,
        }
        return {"accelerator": "NVIDIA H200", "loads": [{"dp_rank": dp, **row} for dp in self.dp_ranks]}


def _share(pool):
    return round(pool[0] / sum(pool), 4) if sum(pool) else 0.0


def _given(key):
    inner = key.partition("{")[2].removesuffix("}")
    return dict(pair.split("=") for pair in inner.split(",")) if inner else {}


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What goes wrong."""

    delay_s: float = 0.0
    drip_s: float = 0.0
    """Pause between single bytes."""
    status: dict[str, int] = field(default_factory=dict)
    """Status by path."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    """Bodies by path."""
    headers: dict[str, str] = field(default_factory=dict)
    token: str | None = None
    spelling: str = PREFIX
    hidden: frozenset[str] = frozenset()
    endless: bool = False
    """Answers without end."""


class ExportServer(ThreadingHTTPServer):
    """Serves one engine."""

    daemon_threads = True

    def __init__(self, engine: Engine):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.engine, self.faults = engine, Faults()
        self.seen: list[tuple[str, str]] = []
        """Method and path of every request."""
        self.scheme = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    def fail(self, **changes) -> None:
        self.faults = replace(self.faults, **changes)

    def handle_error(self, request, client_address):
        """Clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        faults, engine = self.server.faults, self.server.engine
        path = self.path.partition("?")[0]
        self.server.seen.append((self.command, self.path))
        if faults.token is not None and self.headers.get("Authorization") != f"Bearer {faults.token}":
            return self._answer(401, b"no")
        if faults.delay_s:
            time.sleep(faults.delay_s)
        pages = {
            "/metrics": lambda: engine.page(faults.spelling, faults.hidden),
            "/server_info": lambda: json.dumps(engine.server_info()),
            "/get_server_info": lambda: json.dumps(engine.server_info()),
            "/v1/loads": lambda: json.dumps(engine.loads()),
        }
        status = faults.status.get(path, 200 if path in pages else 404)
        if path in faults.bodies:
            return self._answer(status, faults.bodies[path])
        return self._answer(status, pages[path]().encode() if status == 200 else b"no")

    def _refuse(self):
        self.server.seen.append((self.command, self.path))
        self._answer(405, b"no")

    do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _refuse  # noqa: N815

    def _answer(self, status, body):
        faults = self.server.faults
        self.send_response(status)
        for name, value in faults.headers.items():
            self.send_header(name, value)
        if faults.endless:
            self.send_header("Connection", "close")
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"# " + b"x" * 65_534)
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            if not faults.drip_s:
                self.wfile.write(body)
                return
            for at in range(len(body)):
                self.wfile.write(body[at : at + 1])
                time.sleep(faults.drip_s)


@contextlib.contextmanager
def serving(engine: Engine | None = None, *, certificate: str | None = None):
    """A server that answers until the block ends; over TLS with a certificate file that also holds its key."""
    server = ExportServer(engine or Engine())
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.scheme = "https"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def make_certificate(folder) -> tuple[str, str]:
    """A self-signed certificate: a file with its key, and one without; skips where none can be made."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    key, alone, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    made = ("openssl", "req", "-x509", *curve, "-nodes", "-days", "2", *subject)
    subprocess.run([*made, "-keyout", str(key), "-out", str(alone)], check=True, capture_output=True)
    both.write_text(key.read_text() + alone.read_text())
    return str(both), str(alone)
