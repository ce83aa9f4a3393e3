"""Who may ask, and what every answer says to the browser."""

import asyncio
import json
import re

import pytest

from poolsplit.web.app import Server, build_app
from poolsplit.web.guard import HEADERS, Access
from poolsplit.web.uploads import Uploads
from ui_server import PLAN, running_ui

ANYWHERE = "0.0.0.0"  # noqa: S104  what is tested
WRONG = "wrong"


@pytest.mark.parametrize("path", ["/", "/static/app.js", "/plotly.min.js", "/api/choices", "/nothing"])
def test_every_answer_has_the_headers(ui, path):
    headers = ui.ask("GET", path).headers
    for name, value in HEADERS.items():
        assert headers[name.lower()] == value
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_the_policy_admits_nothing_inline_and_nothing_from_elsewhere():
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
    assert not re.search(r"unsafe|\*|https?:", HEADERS["Content-Security-Policy"])


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "", "10.0.0.1", "[", "a b"]
)
def test_a_name_that_somebody_elses_dns_points_here_is_refused(ui, host):
    ui.ask("GET", "/", Host=host.format(port=ui.port)).assert_refused(421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:9", "127.3.2.1:99"])
def test_names_of_this_machine_are_served_through_any_forwarded_port(ui, host):
    assert ui.ask("GET", "/", Host=host).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://["},
    ],
)
def test_another_site_may_not_ask(ui, headers):
    ui.ask("POST", "/api/plan", PLAN, **headers).assert_refused(403)
    assert ui.ask("GET", "/", **headers).status == 200


def test_our_own_page_may(ui):
    headers = {"Origin": f"http://{ui.netloc}", "Sec_Fetch_Site": "same-origin"}
    assert ui.ask("POST", "/api/plan", PLAN, **headers).status == 200


@pytest.mark.parametrize("path", ["/api/plan", "/api/jobs"])
@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_types_that_a_foreign_form_can_send_are_refused(ui, path, media_type):
    ui.ask("POST", path, b"{}", Content_Type=media_type).assert_refused(415)
    ui.ask("POST", "/api/uploads?name=x", b"x", Content_Type=media_type).assert_refused(415)


def test_another_host_takes_a_token(tmp_path):
    with running_ui("--host", ANYWHERE, cwd=tmp_path) as ui:
        assert ui.url.startswith(f"http://{ANYWHERE}:{ui.port}/?token=")
        token = ui.url.partition("token=")[2]
        assert len(token) >= 32
        assert ui.ask("GET", "/").status == 200
        for path in ("/api/choices", "/api/choices?token=", f"/api/choices?token={token}x", "/api/jobs/x/events"):
            ui.ask("GET", path).assert_refused(401)
        ui.ask("GET", "/api/choices", X_Poolsplit_Token=WRONG).assert_refused(401)
        ui.ask("POST", "/api/plan", PLAN).assert_refused(401)
        assert ui.ask("GET", f"/api/choices?token={token}").status == 200
        assert ui.ask("POST", "/api/plan", PLAN, X_Poolsplit_Token=token).status == 200
        assert ui.ask("GET", "/", Host="evil.example").status == 421
        assert ui.ask("GET", "/", Host="10.1.2.3:80").status == 200


def test_two_starts_have_two_tokens():
    assert Access.on(ANYWHERE).token != Access.on(ANYWHERE).token
    assert Access.on("127.0.0.1").token is None
    assert Access.on("::1").token is None
    assert Access.on("some-name").token is not None


def test_a_fault_of_ours_is_told_with_the_headers(monkeypatch):
    def broken(uploads):
        raise ZeroDivisionError(uploads.limit_bytes)

    monkeypatch.setattr("poolsplit.web.app.choices", broken)
    app = build_app(Access.on("127.0.0.1"), Server(Uploads(limit_bytes=7)))
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/choices",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    told = []

    async def receive():
        return {"type": "http.request"}

    async def send(message):
        told.append(message)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(app(scope, receive, send))
    start, body = told
    assert start["status"] == 500
    assert {name.lower().encode() for name in HEADERS} <= {name for name, _ in start["headers"]}
    assert "ZeroDivisionError: 7" in json.loads(body["body"])["error"]
