"""The same over a Unix socket and HTTPS, and in the short form."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import json
import os
import socket
import ssl
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from starlette.testclient import TestClient

from containers.boxes import Boxes, Host, until
from lockgate.clients.remote.gate import HookServices, HostAddress, RemoteGate
from lockgate.clients.wire.envelope import MAX_MESSAGE
from lockgate.core.errors import RemoteError
from lockgate.core.events import Context, SessionStarted, ToolRequested
from lockgate.core.model import Subject, ToolCall, Verdict
from lockgate.service.containers.groups import ContainerGroup, Groups
from lockgate.service.containers.handler import ContainerDecisions
from lockgate.service.containers.http import Web
from lockgate.service.containers.serve import ContainerServerSettings, check
from lockgate.system.folders import Folders
from support.ports import free_port

pytestmark = pytest.mark.sampled


def ask(place: str, group: ContainerGroup, command: str, ca_file: str = "") -> Verdict:
    """Ask as a hook does."""
    where = HostAddress(place, f"{group.folder}/secret/key", Folders("/home/agent", "/none", "/none/config"), ca_file)
    context = Context("claude-code", Subject(os.urandom(4).hex()), "/project", "/project")
    gate = RemoteGate(where, 10.0, HookServices())
    gate.handle(SessionStarted(context, "startup"))
    return gate.handle(ToolRequested(context, ToolCall("Bash", {"command": command}, "/project", "c1"))).verdict


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def port(host: Host, box: Boxes) -> int:
    """A host on loopback, with two groups."""
    box("one")
    box("two")
    number = free_port()
    host.start("--listen", f"127.0.0.1:{number}", files=False)
    until(lambda: answers(number))
    return number


def post(port: int, path: str, token: str, body: bytes, method: str = "POST") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, {"Authorization": token})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_a_hook_in_a_container_asks_over_a_unix_socket(host: Host, box: Boxes) -> None:
    one = box()
    place = host.root / "gate.sock"
    host.start("--unix", str(place), files=False)
    until(place.exists)
    one.place = "unix:/gate.sock"
    one.options = ("--bind", str(place), "/gate.sock")
    yes, no = one.run("git push; touch /project/ran", "lockgate approve x; touch /project/other")
    assert (yes["ran"], no["ran"], no["decision"]) == (True, False, "deny")
    (local,) = one.run("echo hello")
    assert local["ran"]
    assert not [row for row in host.audit() if row.get("reported")]  # an answer takes no longer than a report
    host.end()
    assert not place.exists()
    one.options = ()
    (dead,) = one.run("git push")
    assert (dead["ran"], dead["decision"]) == (False, "deny")


@pytest.mark.parametrize(("uid", "status"), [(4711, 200), (os.geteuid(), 200), (12345, 401)])
def test_a_peer_of_another_user_is_turned_away(host: Host, box: Boxes, uid: int, status: int) -> None:
    """As the kernel says who connected: the group's user, and the host's own."""
    box()
    host.add_for_user("theirs", 4711)
    desk = SimpleNamespace(has_room=lambda _: True, decide=_decided)
    web = Web(Groups(host.where.state), cast(ContainerDecisions, desk))
    headers = {"Authorization": f"Bearer {host.group('theirs').key.token}"}
    with TestClient(web.app, client=("peer-uid", uid)) as client:
        assert client.post("/v1/decide", content=b"x", headers=headers).status_code == status


async def _decided(*_: object) -> bytes:
    return b"answer"


def test_an_answer_that_nobody_fetches_is_let_go(host: Host, box: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each could be megabytes, and a container can go away as often as it likes."""
    monkeypatch.setattr("lockgate.service.containers.http._FIRST_SECONDS", 0.0)
    monkeypatch.setattr("lockgate.service.containers.http._KEEP_SECONDS", 0.0)
    group = box().group
    go = threading.Event()

    async def decide(*_: object) -> bytes:
        while not go.is_set():
            await asyncio.sleep(0.01)
        return b"answer"

    web = Web(
        Groups(host.where.state), cast(ContainerDecisions, SimpleNamespace(has_room=lambda _: True, decide=decide))
    )
    with TestClient(web.app) as client:
        headers = {"Authorization": f"Bearer {group.key.token}"}
        assert client.post("/v1/decide", content=b"x", headers=headers).status_code == 202
        assert len(web) == 1
        go.set()
        until(lambda: not len(web))


def test_over_tls(host: Host, box: Boxes, tmp_path: Path) -> None:
    group = box().group
    key, certificate = tmp_path / "tls.key", tmp_path / "tls.crt"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += [
        "-keyout",
        key,
        "-out",
        certificate,
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
    ]
    subprocess.run(command, capture_output=True, check=True)
    number = free_port()
    host.start("--listen", f"127.0.0.1:{number}", "--tls-cert", str(certificate), "--tls-key", str(key), files=False)
    until(lambda: answers(number))
    assert ask(f"https://localhost:{number}", group, "git push", str(certificate)) is Verdict.ALLOW
    assert ask(f"https://localhost:{number}", group, "lockgate approve x", str(certificate)) is Verdict.DENY
    with pytest.raises(RemoteError):
        ask(f"https://localhost:{number}", group, "git push")
    with pytest.raises(ssl.SSLError), socket.create_connection(("127.0.0.1", number)) as plain:
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")


def test_what_is_asked_with_a_key_is_answered(host: Host, port: int) -> None:
    assert ask(f"http://127.0.0.1:{port}", host.group("one"), "git push") is Verdict.ALLOW
    assert ask(f"http://127.0.0.1:{port}", host.group("two"), "lockgate approve x") is Verdict.DENY


def test_who_has_no_token_of_a_group_is_turned_away(host: Host, port: int) -> None:
    one, two = host.group("one").key.token, host.group("two").key.token
    mixed = f"one.{two.partition('.')[2]}"
    for token in ("", "Bearer", f"Bearer {mixed}", f"Basic {one}", "Bearer one.", "Bearer .", f"Bearer {one}x"):
        assert post(port, "/v1/decide", token, b"{}")[0] == 401, token


def test_a_token_without_the_key_can_ask_in_the_short_form_only(host: Host, port: int) -> None:
    group = host.group("one")
    token = f"Bearer {group.key.token}"
    body = json.dumps({"type": "security:bash_check", "request_id": "a" * 32, "command": "git push"}).encode()
    status, answer = post(port, "/v1/decide", token, body)
    said = json.loads(answer)
    assert (status, said["decision"], said["request_id"]) == (200, "allow", "a" * 32)
    assert said["request_sha256"] == hashlib.sha256(body).hexdigest()
    mac = said.pop("mac")
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
    assert mac == hmac.new(group.secret, b"lockgate ipc 1 answer\0" + canonical, hashlib.sha256).hexdigest()
    status, answer = post(port, "/v1/decide", token, b'{"v": 1, "id": "x", "event": {}}')
    assert json.loads(answer)["decision"] == "deny"


def test_there_are_three_routes_and_no_other(host: Host, port: int) -> None:
    token = f"Bearer {host.group('one').key.token}"
    assert post(port, "/healthz", "", b"", "GET") == (200, b"ok\n")
    for path in ("/", "/v1", "/v1/approve", "/docs", "/openapi.json", "/v1/decide/", "/static/../v1/decide"):
        assert post(port, path, token, b"{}")[0] in (404, 307), path
    assert post(port, "/v1/decide", token, b"", "GET")[0] == 405


def test_a_body_that_is_too_large(host: Host, port: int) -> None:
    token = f"Bearer {host.group('one').key.token}"
    try:
        status, _ = post(port, "/v1/decide", token, b"x" * (MAX_MESSAGE + 1))
    except OSError:
        status = 413  # the host closed the connection while it was written to
    assert status == 413
    assert ask(f"http://127.0.0.1:{port}", host.group("one"), "git push") is Verdict.ALLOW


@pytest.mark.parametrize(
    "settings",
    [
        ContainerServerSettings(),
        ContainerServerSettings(listen="0.0.0.0:8443"),
        ContainerServerSettings(listen="[::]:8443"),
        ContainerServerSettings(listen="example.com:8443"),
        ContainerServerSettings(listen="8443"),
        ContainerServerSettings(listen="127.0.0.1:http"),
        ContainerServerSettings(listen="127.0.0.1:8443", certificate="x"),
    ],
    ids=str,
)
def test_what_would_not_be_safe_to_serve(settings: ContainerServerSettings) -> None:
    with pytest.raises(RemoteError):
        check(settings)


@pytest.mark.parametrize("listen", ["127.0.0.1:1", "localhost:1", "[::1]:1"])
def test_loopback_needs_no_tls(listen: str) -> None:
    check(ContainerServerSettings(listen=listen))
