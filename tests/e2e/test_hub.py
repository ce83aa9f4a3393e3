"""Hub ids against a small hub of our own on this machine: listing, cache, tokens, offline mode and every refusal."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hybrid_configs import QWEN_NEXT

COMMIT = "0" * 40
GOOD_TOKEN = "good"  # noqa: S105 - opens the made hub only
FILES = {
    "made/plain": {
        "config.json": json.dumps({**QWEN_NEXT, "auto_map": {"AutoConfig": "evil.Config"}}),
        "model.safetensors.index.json": json.dumps({"metadata": {"total_size": 4321}}),
        "hf_quant_config.json": json.dumps({"quantization": {"kv_cache_quant_algo": "FP8"}}),
        "evil.py": "raise SystemExit('code of a repository was run')",
    },
    "made/single": {"config.json": json.dumps(QWEN_NEXT), "model.safetensors": "x" * 777},
    "made/gguf": {"model.gguf": "x"},
    "made/private": {"config.json": json.dumps(QWEN_NEXT)},
    "made/gated": {"config.json": json.dumps(QWEN_NEXT)},
}


class Hub(BaseHTTPRequestHandler):
    """Answers the calls that the client makes for a listing and for one file."""

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        self.server.asked.append(self.path)
        path = self.path.partition("?")[0].strip("/")
        listing = path.startswith("api/models/")
        parts = path.removeprefix("api/models/").split("/")
        name, file = "/".join(parts[:2]), "/".join(parts[4:])
        files = FILES.get(name)
        private = name == "made/private" and self.headers.get("authorization") != f"Bearer {GOOD_TOKEN}"
        if files is None or private:
            return self.send(401 if private else 404, "RepoNotFound", b"", body=body)
        if listing:
            if "revision" in path and "no-such" in path:
                return self.send(404, "RevisionNotFound", b"", body=body)
            siblings = [{"rfilename": key, "size": len(text)} for key, text in files.items()]
            document = {"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "private": False}
            return self.send(200, None, json.dumps(document).encode(), body=body)
        if name == "made/gated":
            return self.send(403, "GatedRepo", b"", body=body)
        if file not in files:
            return self.send(404, "EntryNotFound", b"", body=body)
        return self.send(200, None, files[file].encode(), body=body)

    def send(self, status, code, content, *, body):
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", code)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)


@pytest.fixture
def hub(tmp_path, poolsplit):
    """The command line with a hub on this machine as its endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}",
        "HF_HOME": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "0",
        "HF_TOKEN": "",
        "NO_PROXY": "127.0.0.1",
    }

    def run(*arguments, **more):
        return poolsplit("models", *arguments, env={**env, **more})

    run.asked = server.asked
    yield run
    server.shutdown()
    server.server_close()


def test_a_hub_id_is_read_without_running_its_code(hub):
    result = hub("made/plain", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    (model,) = result.document["models"]
    assert (model["origin"], model["state_layers"], model["kv_layers"]) == ("hub", 6, 2)
    assert (model["weights_bytes"], model["kv_dtype"]) == (4321, "fp8_e4m3")
    assert not any("evil" in path for path in hub.asked)


def test_a_file_that_was_fetched_is_used_offline(hub):
    assert hub("made/plain").exit_code == 0
    count = len(hub.asked)
    result = hub("made/plain", "--json", HF_HUB_OFFLINE="1")
    assert result.document["models"][0]["weights_bytes"] == 4321
    assert len(hub.asked) == count


def test_weights_without_an_index_are_the_listed_sizes(hub):
    assert hub("made/single", "--json").document["models"][0]["weights_bytes"] == 777


def test_offline_and_not_cached(hub):
    hub("made/plain", HF_HUB_OFFLINE="1").assert_error(2, "`made/plain`", "HF_HUB_OFFLINE")
    assert hub.asked == []


def test_a_token_opens_a_private_repository(hub):
    hub("made/private").assert_error(2, "`made/private`", "HF_TOKEN")
    assert hub("made/private", HF_TOKEN=GOOD_TOKEN).exit_code == 0


def test_every_refusal_of_the_hub_is_told_in_our_words(hub):
    hub("made/none").assert_error(2, "no model `made/none`")
    hub("made/gguf").assert_error(2, "no config.json")
    hub("made/gated").assert_error(2, "gated", "licence")


def test_a_hub_that_does_not_answer_is_told_at_once(hub):
    hub("made/plain", HF_ENDPOINT="http://127.0.0.1:9").assert_error(2, "http://127.0.0.1:9", "did not answer")


def test_an_embedded_id_never_asks_the_hub(hub):
    assert hub("Qwen/Qwen3.5-27B").exit_code == 0
    assert hub.asked == []
