"""No command opens a connection unasked, and the security page lists every module that can open one."""

import ast
import re

import pytest

from support import EXAMPLES, ROOT, run_command

NETWORK = {
    "socket", "ssl", "http.client", "http.server", "urllib.request", "socketserver", "ftplib", "smtplib", "xmlrpc",
    "subprocess", "webbrowser", "httpx", "httpx2", "requests", "aiohttp", "huggingface_hub", "distributed", "uvicorn",
}  # fmt: skip
"""What a module must import to reach, or be reached by, another program."""
WATCHER = """
import os, sys

OPENS = ("connect", "getaddrinfo", "gethostbyname", "bind", "sendto", "sendmsg")

def look(event, arguments):
    if event.startswith("socket.") and event[7:] in OPENS:
        with open(os.environ["SEEN_CONNECTIONS"], "a") as seen:
            seen.write(f"{event} {arguments[0] if event == 'socket.getaddrinfo' else arguments[-1]}\\n")

sys.addaudithook(look)
"""
LOG = str(EXAMPLES / "boot-qwen3.5-9b-tp2.log")
LAUNCH = ("--model-path", "Qwen/Qwen3.5-9B", "--tp-size", "2")
SPLIT = ("--state-slots", "64", "--kv-tokens", "200000", "--sessions", "4")
PLAN = ("plan", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--gpu", "h200", "--tp", "4", "--context", "8192")
QUIET = (
    ("--help",),
    ("--version",),
    PLAN,
    ("plan", "--boot-log", LOG, "--context", "9216"),
    ("resolve", "--gpu", "h100", *LAUNCH),
    ("read", LOG),
    ("diff", LOG, LOG),
    ("models",),
    ("models", "Qwen/Qwen3.5-9B"),
    ("gpus",),
    ("explain",),
    ("dashboard", "plan.json", "--output", "made"),
    ("trace", "info", "small.pst"),
    ("trace", "convert", "small.pst", "-o", "small.jsonl", "--to", "mooncake"),
    ("replay", "small.pst", *SPLIT),
    ("surface", "small.pst", "--budget", "300MB", "--state-bytes", "800000", "--kv-bytes", "1000"),
)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Runs a command with every connection written down; gives the result and what was opened."""
    place = tmp_path_factory.mktemp("watched")
    (place / "watcher").mkdir()
    (place / "watcher" / "sitecustomize.py").write_text(WATCHER)
    seen = place / "seen"
    environment = {"PYTHONPATH": str(place / "watcher"), "SEEN_CONNECTIONS": str(seen)}

    def run(*arguments, **variables):
        seen.write_text("")
        done = run_command(*arguments, cwd=place, env={**environment, **variables})
        return done, seen.read_text().splitlines()

    trace = ("trace", "synth", "rag", "--requests", "60", "-o", "small.pst")
    for made in (trace, (*PLAN, "--json", "-o", "plan.json")):
        done, opened = run(*made)
        assert (done.exit_code, opened) == (0, []), done.stderr
    return run


@pytest.mark.parametrize("command", QUIET, ids=lambda command: " ".join(command[:2]))
def test_no_connection_that_was_not_asked_for(watched, command):
    done, opened = watched(*command)
    assert (done.exit_code, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert opened == []


def test_a_server_is_asked_at_its_own_address_alone(watched):
    done, opened = watched("watch", "http://127.0.0.1:9", "--once")
    assert done.exit_code == 4
    assert {line.split(" ", 1)[1] for line in opened} == {"127.0.0.1", "('127.0.0.1', 9)"}


def test_a_hub_id_that_is_not_embedded_asks_the_hub_alone(watched, tmp_path):
    done, opened = watched(
        "models", "nobody/knows-this", HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path), no_proxy="*"
    )
    assert done.exit_code == 2
    assert {line.split(" ", 1)[1] for line in opened} == {"127.0.0.1", "('127.0.0.1', 9)"}


def test_offline_a_hub_id_asks_nobody(watched, tmp_path):
    done, opened = watched("models", "nobody/knows-this", HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
    assert (done.exit_code, opened) == (2, [])


def imported(tree):
    """Full names of what a module imports, with every package above them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))


def test_the_security_page_lists_every_module_that_can_reach_the_network():
    source = ROOT / "src" / "poolsplit"
    reaching = {
        ".".join(file.relative_to(source).with_suffix("").parts)
        for file in source.rglob("*.py")
        if NETWORK.intersection(imported(ast.parse(file.read_bytes())))
    }
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w.]+)` \|", page, flags=re.MULTILINE)) == reaching
