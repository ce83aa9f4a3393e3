"""One GET, whatever the server does."""

import contextlib
import socket
import threading
import time

import pytest

from live_server import Engine, make_certificate, serving
from poolsplit.errors import EngineUnreachableError, InputError, UsageError
from poolsplit.live.fetch import Connection, NotFoundError, get, server_root

KEY = "s3cret"
PATIENT = Connection(timeout_s=30.0)
QUICK = Connection(timeout_s=0.3)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def server():
    with serving(Engine()) as started:
        yield started


def refused(url, connection=PATIENT):
    with pytest.raises(EngineUnreachableError) as caught:
        get(url, connection)
    return caught.value


def test_the_body_comes_back_and_only_a_get_was_sent(server):
    assert get(f"{server.url}/metrics", PATIENT).startswith(b"# HELP sglang:")
    assert server.seen == [("GET", "/metrics")]


def test_a_missing_path_is_told_apart(server):
    assert isinstance(refused(f"{server.url}/nothing"), NotFoundError)


@pytest.mark.parametrize("faults", [{"delay_s": 1.0}, {"drip_s": 0.05}])
def test_time_is_limited_for_the_whole_answer(server, faults):
    server.fail(**faults)
    error = refused(f"{server.url}/metrics", QUICK)
    assert "within 0.3 s" in error.message


def serve_raw(answer):
    """A server that answers one connection with a function of the socket; its address."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        with listener, contextlib.suppress(OSError):
            client, _ = listener.accept()
            with client:
                answer(client)

    threading.Thread(target=run, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/metrics"


def test_a_server_that_drips_its_headers_is_given_up_in_time():
    def drip(client):
        for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"a" * 600:
            client.sendall(bytes([byte]))
            time.sleep(0.02)

    assert "within 0.3 s" in refused(serve_raw(drip), QUICK).message


def test_a_body_cut_short_is_no_answer():
    def cut(client):
        client.recv(65_536)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")

    assert refused(serve_raw(cut), Connection(timeout_s=5.0)).exit_code == 4


def test_size_is_limited(server):
    server.fail(endless=True)
    error = refused(f"{server.url}/metrics", Connection(timeout_s=30.0, max_bytes=1 << 20))
    assert "larger than 1 MiB" in error.message


@pytest.mark.parametrize(
    ("status", "needle"), [(500, "status 500"), (503, "status 503"), (401, "refuses"), (403, "refuses")]
)
def test_a_status_is_told(server, status, needle):
    server.fail(status={"/metrics": status})
    assert needle in refused(f"{server.url}/metrics").message


def test_a_key_opens_the_server_and_is_never_shown(server):
    server.fail(token=KEY)
    connection = Connection(timeout_s=5.0, token=KEY)
    assert get(f"{server.url}/metrics", connection)
    assert "--token-file" in refused(f"{server.url}/metrics").hint
    assert KEY not in repr(connection)


def test_an_answer_that_is_compressed_unasked_is_told(server):
    server.fail(headers={"Content-Encoding": "gzip"})
    assert "compressed (gzip)" in str(refused(f"{server.url}/metrics"))


def test_a_redirect_to_another_server_is_not_followed(server):
    with serving(Engine()) as other:
        server.fail(status={"/metrics": 302}, headers={"Location": f"{other.url}/metrics"})
        assert "another server" in refused(f"{server.url}/metrics", Connection(token=KEY)).message
        assert other.seen == []


def test_a_redirect_within_the_server_is_followed(server):
    server.fail(status={"/old": 302}, headers={"Location": "/metrics"})
    assert get(f"{server.url}/old", PATIENT).startswith(b"# HELP")


def test_a_certificate_is_checked(tmp_path):
    both, alone = make_certificate(tmp_path)
    with serving(Engine(), certificate=both) as server:
        assert get(f"{server.url}/metrics", Connection(ca_file=alone)).startswith(b"# HELP")
        assert "--ca-file" in refused(f"{server.url}/metrics", Connection()).hint


def test_a_file_that_holds_no_certificate_is_bad_input(tmp_path):
    file = tmp_path / "none.pem"
    for text in (None, "nothing"):
        if text is not None:
            file.write_text(text)
        with pytest.raises(InputError):
            get("https://127.0.0.1:1/metrics", Connection(ca_file=str(file)))


def test_nobody_there():
    assert "no answer" in refused("http://127.0.0.1:9/metrics").message


def test_a_server_that_does_not_speak_http():
    url = serve_raw(lambda client: client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n"))
    assert refused(url, Connection(timeout_s=5.0)).exit_code == 4


@pytest.mark.parametrize(
    ("given", "root"),
    [
        ("host:30000", "http://host:30000"),
        ("http://host:30000/", "http://host:30000"),
        ("https://host/metrics", "https://host"),
        ("http://host/router/engine", "http://host/router/engine"),
        ("http://[::1]:30000/server_info", "http://[::1]:30000"),
    ],
)
def test_a_servers_root(given, root):
    assert server_root(given) == root


@pytest.mark.parametrize("given", ["", "ftp://host", "http://", "file:///etc/passwd", "http://user:pw@host"])
def test_what_is_no_address(given):
    with pytest.raises(UsageError):
        server_root(given)
