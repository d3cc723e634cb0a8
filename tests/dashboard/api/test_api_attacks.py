"""Attacks on the dashboard: each is tried against a real server's process, and each fails.

Who attacks: another user of the machine, a page in the person's own browser, an agent that would approve itself, and
whoever writes what an agent's call says.
"""

from __future__ import annotations

import json
import logging
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lockgate.service.http import serve as sparing
from lockgate.service.http.auth.tokens import add
from lockgate.service.http.schemas.build import PLACE
from support.api_server import Machine, Server, read_all

CONTRACT = json.loads(PLACE.read_text())
_IDS = {"session": "s1", "seq": "1", "approval": "abcdefghjk", "result": "0" * 16}
ROUTES = [
    pytest.param(method.upper(), path.removeprefix("/api/v1/").format(**_IDS), id=f"{method} {path}")
    for path, methods in CONTRACT["paths"].items()
    for method in methods
]
CHANGES = [
    ("approvals/{}/approve", {"shown": "0" * 64}),
    ("approvals/{}/deny", {}),
    ("approvals/{}/needless", {}),
    ("results/0123456789abcdef/endorse", {"session": "s1", "shown": "0" * 64}),
]


# -- another user of this machine


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_another_user_gets_nothing_of_any_route(server: Server, method: str, path: str) -> None:
    for body in (None, {}, {"token": "x"}):
        answer = server.client().request(method, path, json=body)
        refused = {401} if path != "login" else {401, 403, 405, 422}
        assert answer.status_code in refused, "a program"
        assert server.browser().request(method, path, json=body).status_code in refused | {429}, "a browser"


@pytest.mark.parametrize(
    "path", ["nope", "approvals/../sessions", "sessions//", "Sessions", "%2e%2e/login", "login/", ""]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "BREW"])
def test_nor_of_what_is_no_route(server: Server, method: str, path: str) -> None:
    assert server.client().request(method, path).status_code in (401, 404, 405)
    if not path.startswith(("approvals", "%2e")):
        assert server.client().request(method, path).status_code == 401


def test_what_everybody_can_read_holds_nothing_of_this_machine(machine: Machine, server: Server) -> None:
    machine.session("a-session-of-ann")
    page = httpx.get(f"{server.url}/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for word in ("ann", "a-session-of-ann", str(machine.home), server.token):
        assert not re.search(rf"\b{re.escape(word)}\b", page.text)


@pytest.mark.parametrize(
    "path",
    [
        "/../schemas.py",
        "/..%2fschemas.py",
        "/%2e%2e/schemas.py",
        "/js/../../app.py",
        "//etc/passwd",
        "/js",
        "/js/",
        "/.hidden",
        "/index.html%00.js",
        "/INDEX.HTML",
    ],
)
def test_no_file_is_served_but_the_pages(server: Server, path: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode()
        )
        assert b" 404 " in read_all(connection).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "cookie",
    [
        "lockgate=",
        "lockgate=x",
        "lockgate=*",
        "lockgate=' OR 1=1",
        "lockgate=" + "A" * 43,
        "__Host-lockgate=x",
        "=;=;;",
    ],
)
def test_a_guessed_cookie_opens_nothing(server: Server, cookie: str) -> None:
    headers = {"Cookie": cookie, "X-CSRF-Token": cookie.partition("=")[2]}
    assert server.browser().get("me", headers=headers).status_code == 401


# -- a page in the person's own browser


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, id="another-site"),
        pytest.param({"Origin": "https://evil.example"}, id="an-older-browser"),
        pytest.param({"Origin": "null", "Sec-Fetch-Site": "cross-site"}, id="sandboxed-frame"),
        pytest.param({"Origin": "null"}, id="file-or-data-page"),
        pytest.param({"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, id="another-port"),
        pytest.param({"Origin": "http://127.0.0.1:1"}, id="another-port-in-an-older-browser"),
        pytest.param({"Origin": "http://localhost:{port}"}, id="another-name-of-this-machine"),
        pytest.param({"Origin": "https://127.0.0.1:{port}"}, id="another-scheme"),
        pytest.param({"Origin": "http://127.0.0.1:{port}.evil.example"}, id="a-name-that-begins-so"),
        pytest.param({"Origin": ""}, id="empty"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="no-origin-another-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="no-origin-another-port"),
        pytest.param({}, id="says-nothing"),
    ],
)
def test_another_page_cannot_use_the_persons_session(
    machine: Machine, server: Server, approval: str, headers: dict[str, str]
) -> None:
    """Even with both secrets, which it has neither of."""
    person = server.person()
    shown = person.get(f"approvals/{approval}").json()["shown"]
    for name in ("Origin", "Sec-Fetch-Site"):
        del person.headers[name]
    person.headers.update({name: value.format(port=server.port) for name, value in headers.items()})
    for way, body in (("approve", {"shown": shown}), ("deny", {})):
        answer = person.post(f"approvals/{approval}/{way}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "origin")
        assert "access-control-allow-origin" not in answer.headers
    assert person.post("logout").status_code == 403
    if headers:
        assert person.get("sessions").status_code == 403, "nor read"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        pytest.param("application/x-www-form-urlencoded", b"reason=x", id="form"),
        pytest.param("multipart/form-data; boundary=x", b"--x--", id="upload"),
        pytest.param("text/plain", b'{"reason": ""}', id="text-that-is-json"),
        pytest.param("application/json-seq", b"{}", id="nearly"),
        pytest.param("", b"{}", id="none"),
    ],
)
def test_a_form_cannot_answer(server: Server, approval: str, kind: str, body: bytes) -> None:
    answer = server.person().post(f"approvals/{approval}/deny", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 415


def test_a_stolen_cookie_is_of_no_use(server: Server, approval: str) -> None:
    """A browser sends a host's cookies to each of its ports, so another user's server on this machine gets them."""
    person = server.person()
    thief = server.client({"Origin": server.url}, cookies=dict(person.cookies))
    assert thief.get("sessions").status_code == 401
    assert thief.post(f"approvals/{approval}/deny", json={}).status_code == 401
    assert "csrf" not in person.get("me").text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1.evil.example:{port}",
        "2130706433:{port}",
        "127.1:{port}",
        "0.0.0.0:{port}",
        "localhost:{port}",
        "localhost.:{port}",
        "[::1]:{port}",
        "user@127.0.0.1:{port}",
        "",
    ],
)
def test_a_name_that_was_led_here_is_not_answered(server: Server, host: str) -> None:
    """DNS rebinding: the page's own name points to this machine now, and its requests are of the same origin."""
    name = host.format(port=server.port)
    for path in ("/", "/api/v1/me", "/api/v1/login"):
        answer = httpx.get(server.url + path, headers={"Host": name, "Origin": f"http://{name}"})
        assert answer.status_code in (400, 421)
        assert "lockgate" not in answer.headers.get("set-cookie", "")


def test_no_page_can_fill_the_log(machine: Machine) -> None:
    with machine.serve() as server, httpx.Client(base_url=server.url) as page:
        for number in range(3 * sparing.MOST):
            assert page.get("/", headers={"Host": f"a{number}.example.com"}).status_code == 421
            assert page.get("/api/v1/me", headers={"Origin": f"http://b{number}.com"}).status_code == 403
    for kind, first in (("named another host", "a0.example.com"), ("another page's", "http://b0.com")):
        lines = [line for line in server.logged if kind in line]
        assert len(lines) == sparing.MOST
        assert first in lines[0]


def test_what_was_left_out_of_the_log_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [1000.0]
    kept = sparing.RateLimitedLog(lambda: now[0])
    caplog.handler.addFilter(kept)
    log = logging.getLogger("lockgate.service.http")
    try:
        for kind in ("one", "other"):
            for number in range(sparing.MOST + 3):
                log.warning(kind, extra={"facts": {"number": number}})
        for number in range(sparing.MOST):
            log.warning("as many", extra={"facts": {"number": number}})
        now[0] += sparing.SECONDS
        log.warning("one", extra={"facts": {"number": 99}})
        log.warning("one")
        log.warning("as many")
    finally:
        caplog.handler.removeFilter(kept)
    facts = [(record.msg, getattr(record, "facts", None)) for record in caplog.records]
    expected = [(kind, {"number": number}) for kind in ("one", "other", "as many") for number in range(sparing.MOST)]
    assert facts == [*expected, ("one", {"number": 99, "left_out": 3}), ("one", None), ("as many", None)]


def test_no_page_can_hold_or_be_told_of_another(server: Server) -> None:
    for path in ("/", "/api/v1/me", "/nope", "/api/v1/login"):
        headers = httpx.get(server.url + path).headers
        policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["form-action"] == policy["trusted-types"] == "'none'"
        assert policy["require-trusted-types-for"] == "'script'"
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers
        if path.startswith("/api"):
            assert headers["cache-control"] == "no-store"


# -- an agent


def test_an_agent_with_a_reading_token_cannot_approve(reader: httpx.Client, approval: str) -> None:
    shown = reader.get(f"approvals/{approval}").json()["shown"]
    for way, body in (("approve", {"shown": shown}), ("deny", {})):
        answer = reader.post(f"approvals/{approval}/{way}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (403, "scope")


@pytest.mark.parametrize(("way", "body"), CHANGES)
def test_an_agent_that_asks_with_curl_is_nobody(server: Server, approval: str, way: str, body: dict[str, str]) -> None:
    for headers in ([], ["-H", f"Origin: {server.url}"], ["-H", "Authorization: Bearer x"], ["-b", "lockgate=x"]):
        command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "10", *headers]
        command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        done = subprocess.run(
            [*command, f"{server.url}/api/v1/{way.format(approval)}"], capture_output=True, text=True, check=True
        )
        assert done.stdout == "401"


# -- what a call says


ZOO = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    '"><svg onload=alert(1)>',
    "{{7*7}}${7*7}",
    "\u202e\u2066\u200b\ufeff\x1b[2J\x00\x7f\u2028",
    "\ud800",
    "data: x\n\nevent: approval\ndata: {}",
    "\r\nSet-Cookie: lockgate=x\r\n\r\n<script>",
]
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ud800-\udfff]")


def test_no_text_becomes_markup_or_hides(machine: Machine, server: Server) -> None:
    person = server.person()
    paths = ["sessions", "decisions", "approvals", "approvals?state=all", "health"]
    for text in ZOO:
        machine.session(f"zoo {text}".encode("utf-8", "replace").decode(), workspace=text.replace("\ud800", ""))
        about = {"input": {text: text}, "reasons": [{"rule": text, "row": text, "because": text}], "tool": text}
        paths.append(f"decisions/{machine.decided(session=text, agent=text, client=text, **about)}")
        approval = machine.asked(text, **{**about, "whole": {text: {text: [text]}}, "brief": text, "cwd": text})
        paths.append(f"approvals/{approval}")
        person.post(f"approvals/{approval}/deny", json={"reason": text.replace("\ud800", "")}).raise_for_status()
        told = person.post("explain", json={"command": text.replace("\ud800", "")})
        assert told.status_code == 200
        assert not _HIDDEN.search(told.text)
    for path in paths:
        answer = person.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert not _HIDDEN.search(answer.text), path
        assert not any(_HIDDEN.search(text) for text in texts(answer.json())), path


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from (name, *texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


@pytest.mark.parametrize("text", ZOO[:-3] + ZOO[-2:])
def test_what_is_asked_for_is_not_told_back(server: Server, text: str) -> None:
    person = server.person()
    for answer in (
        person.get("sessions", params={text: "x", "limit": text}),
        person.get(f"approvals/{httpx.QueryParams({'x': text})}"),
        person.post("explain", json={"command": {text: text}}),
        person.post("login", json={"token": [text]}),
    ):
        assert answer.status_code in (404, 422)
        assert answer.headers["content-type"] == "application/problem+json"
        assert not _HIDDEN.search(answer.text)


# -- over TLS


def test_over_tls_the_cookie_is_bound_to_the_host(tmp_path: Path, certificate: tuple[str, str]) -> None:
    machine = Machine(tmp_path)
    file, key = certificate
    with machine.serve(certificate=file, key=key, names=("gate.example",)) as server:
        assert server.url.startswith("https://gate.example:")
        url = f"https://127.0.0.1:{server.port}"
        context = ssl.create_default_context(cafile=file)
        headers = {"Origin": url}
        with httpx.Client(base_url=f"{url}/api/v1/", headers=headers, verify=context, timeout=30) as client:
            told = client.post("login", json={"token": server.token})
            cookie = told.headers["set-cookie"]
            assert cookie.startswith("__Host-lockgate=")
            assert {"Secure", "HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
            assert "max-age=" in told.headers["strict-transport-security"]
            client.headers["X-CSRF-Token"] = told.json()["csrf"]
            assert client.get("me").status_code == 200
            plain = {"Origin": f"http://127.0.0.1:{server.port}"}
            assert client.get("me", headers=plain).status_code == 403
            assert client.get("me", headers={"Host": f"gate.example:{server.port}", "Origin": ""}).status_code == 403
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://127.0.0.1:{server.port}/", timeout=5).raise_for_status()
        token = add(machine.store, "far", "read")
        bearer = {"Authorization": f"Bearer {token}", "Host": f"gate.example:{server.port}"}
        assert httpx.get(f"{url}/api/v1/me", headers=bearer, verify=context).json()["user"] == "far"
    machine.store.close()
