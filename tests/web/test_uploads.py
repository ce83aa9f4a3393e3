"""Dropped files: taken up to a limit, kept without a name, forgotten in order."""

import asyncio
import http.client
from pathlib import Path

import pytest

from poolsplit.errors import InputError
from poolsplit.web.replies import RefusedRequest
from poolsplit.web.uploads import UPLOAD_LIMIT_BYTES, Uploads


@pytest.fixture
def uploads():
    """A place for files, emptied at the end."""
    kept = Uploads()
    yield kept
    kept.close()


@pytest.fixture
def small():
    """The same with room for twelve bytes, and ten at a time."""
    kept = Uploads(limit_bytes=10, kept_bytes=12)
    yield kept
    kept.close()


async def parts_of(*parts):
    for part in parts:
        yield part


def take(uploads, name, *parts):
    return asyncio.run(uploads.take(name, parts_of(*parts)))


def test_a_file_is_kept_without_a_name(uploads, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    kept = take(uploads, "server.log", b"one ", b"two")
    assert kept.size_bytes == 7
    assert not any(tmp_path.iterdir())
    assert Path(kept.path).read_bytes() == b"one two"
    assert uploads.find(kept.id) is kept
    uploads.close()
    assert kept.file.closed


def test_the_limit_is_held_while_the_file_comes(small):
    sent = []

    async def endless():
        while True:
            sent.append(1)
            yield b"12345"

    with pytest.raises(RefusedRequest) as refused:
        asyncio.run(small.take("big", endless()))
    assert refused.value.status == 413
    assert len(sent) == 3


def test_the_oldest_files_make_room(small):
    first, second = take(small, "a", b"1" * 8), take(small, "b", b"2" * 8)
    assert small.find(second.id) is second
    assert first.file.closed
    with pytest.raises(InputError, match="not kept"):
        small.find(first.id)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("/etc/passwd", "passwd"), ("C:\\logs\\a.log", "a.log"), ("a\nb\x1b[31m", "ab[31m"), ("", "dropped file")],
)
def test_names_are_one_plain_word(uploads, given, kept):
    assert take(uploads, given, b"x").name == kept


def test_a_file_that_says_it_is_too_large_is_refused_before_it_comes(ui):
    connection = http.client.HTTPConnection("127.0.0.1", ui.port, timeout=10)
    connection.putrequest("POST", "/api/uploads?name=big.log")
    connection.putheader("Content-Type", "application/octet-stream")
    connection.putheader("Content-Length", str(UPLOAD_LIMIT_BYTES + 1))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert b"command line" in answer.read()
    connection.close()


def test_a_dropped_file_can_be_forgotten(ui):
    upload = ui.upload("a.log", b"nothing")
    assert ui.ask("DELETE", f"/api/uploads/{upload}").status == 204
    assert ui.ask("DELETE", f"/api/uploads/{upload}").status == 204
    body = {"kind": "read", "arguments": {"files": [{"upload": upload}]}}
    ui.ask("POST", "/api/jobs", body).assert_refused(400, "drop it again")
