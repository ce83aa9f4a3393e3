"""The server from its first line to its last, and what is left of it then: nothing."""

import signal
import socket
import subprocess
import sys

import pytest

from poolsplit.errors import MissingExtraError
from poolsplit.web import serving
from ui_server import is_alive, running_ui, until


def started_work(ui, work):
    """A server with an upload and work that has been heard of; the work's process."""
    ui.upload("big.log", b"line\n" * 100_000)
    job = ui.start(**work)
    next(iter(ui.events(job)))
    (process,) = ui.children()
    return process


@pytest.mark.parametrize(
    ("sign", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_nothing_is_left_behind(tmp_path, endless, sign, code):
    with running_ui(cwd=tmp_path, env={"TMPDIR": str(tmp_path)}) as ui:
        worker = started_work(ui, endless)
        assert is_alive(worker)
        assert ui.stop(sign) == code
        until(lambda: not is_alive(worker))
        with pytest.raises(ConnectionRefusedError):
            ui.ask("GET", "/")
    assert not any(tmp_path.iterdir())


def test_an_interrupt_ends_pages_that_follow_work(tmp_path, endless):
    with running_ui(cwd=tmp_path) as ui:
        events = ui.events(ui.start(**endless))
        assert next(events)[0] == "partial"
        assert ui.stop() == 0
        assert [name for name, _ in events][-1] == "cancelled"
        assert "Traceback" not in ui.process.stderr.read()


def test_the_address_is_the_only_line_on_stdout(tmp_path):
    with running_ui(cwd=tmp_path) as ui:
        assert ui.url == f"http://127.0.0.1:{ui.port}/"
        assert ui.stop() == 0
        assert ui.process.stdout.read() == ""


def test_a_taken_port_is_refused_when_it_was_asked_for(poolsplit):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        poolsplit("ui", "--port", str(port)).assert_error(2, f"127.0.0.1:{port}", "--port")


@pytest.mark.parametrize(
    "options", [("--host", "203.0.113.7"), ("--port", "70000"), ("--port", "-1"), ("--host", "no such host")]
)
def test_addresses_that_cannot_be_listened_on(poolsplit, options):
    poolsplit("ui", *options).assert_error(2)


def test_without_its_packages_the_install_command_is_said(monkeypatch):
    monkeypatch.setattr(serving, "find_spec", lambda name: None if name == "uvicorn" else object())
    with pytest.raises(MissingExtraError, match="uvicorn") as missing:
        serving.serve("127.0.0.1", None, print)
    assert missing.value.hint == "pip install 'poolsplit[ui]'"


def test_the_command_line_does_not_import_the_server(tmp_path):
    code = """
import sys, poolsplit.cli.app as app
app.run(["ui", "--help"])
print(*({"uvicorn", "starlette", "numpy"} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "--port" in done.stdout
    assert done.stderr.strip() == ""
