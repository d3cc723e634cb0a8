"""A person is told of a question by their own program and by a webhook: real programs, a real server."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lockgate.core.errors import ApprovalError
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import notification_text as telling
from lockgate.gate.approvals import notifiers as notifying
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals.answering import answer
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import Folders

pytestmark = pytest.mark.slow

SECRET = "a secret between two machines"
PATIENCE = 30.0
MESSAGE = {"type": "approval.asked", "approval": "k2v7m9qxwp", "tool": "Bash"}


class Server:
    """A webhook's receiver, which answers with the statuses that it is told, the last one for ever."""

    def __init__(self) -> None:
        self.statuses = [204]
        self.headers: dict[str, str] = {}
        self.requests: list[tuple[dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = outer.statuses.pop(0) if len(outer.statuses) > 1 else outer.statuses[0]
                outer.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def _is_signed(headers: dict[str, str], body: bytes) -> bool:
    """How a receiver checks, written down a second time."""
    parts = dict(part.split("=", 1) for part in headers["x-lockgate-signature"].split(","))
    wanted = hmac.new(SECRET.encode(), f"{parts['t']}.".encode() + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(parts["v1"], wanted) and abs(time.time() - int(parts["t"])) < 60


# ---------------------------------------------------------------- the webhook
def test_it_is_sent_again_until_the_server_takes_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    server.statuses = [500, 503, 200]
    pauses: list[float] = []
    webhook = {"url": server.url, "secret_env": "HOOK_SECRET"}
    assert notifying.post(webhook, MESSAGE, sleep=pauses.append) == 3
    assert len(server.requests) == 3
    assert all(_is_signed(*request) for request in server.requests)
    assert {headers["x-lockgate-delivery"] for headers, _ in server.requests} == {"k2v7m9qxwp"}
    assert json.loads(server.requests[0][1]) == MESSAGE
    assert 0 < pauses[0] < pauses[1]


def test_a_changed_byte_or_another_secret_is_not_signed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    notifying.post({"url": server.url, "secret_env": "HOOK_SECRET"}, MESSAGE)
    headers, body = server.requests[0]
    assert _is_signed(headers, body)
    assert not _is_signed(headers, body.replace(b"Bash", b"bash"))
    later = {**headers, "x-lockgate-signature": headers["x-lockgate-signature"].replace("t=1", "t=2")}
    assert not _is_signed(later, body)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 410])
def test_a_server_that_refuses_is_not_asked_again(server: Server, status: int) -> None:
    server.statuses = [status]
    server.headers = {"location": server.url}
    with pytest.raises(ApprovalError, match=f"status {status}"):
        notifying.post({"url": server.url}, MESSAGE, sleep=lambda _: None)
    assert len(server.requests) == 1
    assert "x-lockgate-signature" not in server.requests[0][0]


def test_it_gives_up_after_some_time(server: Server) -> None:
    server.statuses = [500]
    pauses: list[float] = []
    with pytest.raises(ApprovalError, match="status 500"):
        notifying.post({"url": server.url}, MESSAGE, sleep=pauses.append)
    assert len(server.requests) == notifying.ATTEMPTS
    assert max(pauses) <= notifying.LONGEST_PAUSE * 1.2


def test_a_server_that_is_away_is_asked_again(server: Server) -> None:
    server.close()
    with pytest.raises(ApprovalError, match="cannot be reached"):
        notifying.post({"url": server.url}, MESSAGE, sleep=lambda _: None)


def test_an_answered_question_is_not_told_any_more(server: Server) -> None:
    server.statuses = [500]
    goes = iter([True, True, False])
    with pytest.raises(ApprovalError):
        notifying.post({"url": server.url}, MESSAGE, lambda: next(goes), sleep=lambda _: None)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://example.com/x", True),
        ("https://127.0.0.1/x", True),
        ("http://127.0.0.1:8000/x", True),
        ("http://127.9.9.9/x", True),
        ("http://[::1]:8000/x", True),
        ("http://localhost/x", True),
        ("http://example.com/x", False),
        ("http://10.0.0.1/x", False),
        ("http://127.0.0.1.example.com/x", False),
        ("http://localhost.example.com/x", False),
        ("http://127.0.0.1@example.com/x", False),
        ("http://0.0.0.0/x", False),
        ("https:///x", False),
        ("ftp://127.0.0.1/x", False),
        ("http://[::1/x", False),
    ],
)
def test_what_others_on_the_way_could_read_is_not_sent(url: str, safe: bool) -> None:
    assert notifying.is_safe(url) is safe
    if not safe:
        with pytest.raises(ApprovalError, match="https"):
            notifying.post({"url": url}, MESSAGE)


def test_without_the_secret_that_is_named_nothing_is_sent(server: Server) -> None:
    with pytest.raises(ApprovalError, match="not in the variable NO_SUCH"):
        notifying.post({"url": server.url, "secret_env": "NO_SUCH"}, MESSAGE)
    assert server.requests == []


def test_no_proxy_of_the_environment_gets_to_see_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert notifying.post({"url": server.url}, MESSAGE) == 1


# ---------------------------------------------------------------- a person's program
def _program(folder: Path, text: str) -> str:
    file = folder / "notify"
    file.write_text(f"#!{sys.executable} -I\nimport json, os, sys, time\n{text}")
    file.chmod(0o755)
    return str(file)


def test_a_program_reads_the_question_and_gets_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("DISPLAY", ":7")
    out = tmp_path / "out"
    program = _program(
        tmp_path, f"json.dump([json.load(sys.stdin), sys.argv[1:], dict(os.environ)], open({str(out)!r}, 'w'))"
    )
    notifying.run_command([program, "$(id)", "a b"], MESSAGE)
    message, arguments, environment = json.loads(out.read_text())
    assert (message, arguments) == (MESSAGE, ["$(id)", "a b"])
    assert environment["DISPLAY"] == ":7"
    assert "sk-secret" not in environment.values()
    assert "ANTHROPIC_API_KEY" not in environment


@pytest.mark.parametrize(
    ("name", "kept", "elsewhere"),
    [
        (
            "DISPLAY",
            ["localhost:10.0", "unix/:0", "/private/tmp/launch.x/org.xquartz:0"],
            ["e.example:0", "e.example/unix:0"],
        ),
        (
            "DBUS_SESSION_BUS_ADDRESS",
            ["unix:path=/run/user/1000/bus", "unix:abstract=/tmp/x;unix:path=/y"],
            ["unixexec:path=/p/x", "tcp:host=e.example,port=1", "unix:path=/run/bus;unixexec:path=/p/x", "autolaunch:"],
        ),
    ],
)
def test_a_program_is_led_to_no_other_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kept: list[str], elsewhere: list[str]
) -> None:
    out = tmp_path / "out"
    program = _program(tmp_path, f"json.dump(os.environ.get({name!r}), open({str(out)!r}, 'w'))")
    for value in [*kept, *elsewhere]:
        monkeypatch.setenv(name, value)
        notifying.run_command([program], MESSAGE)
        assert json.loads(out.read_text()) == (value if value in kept else None)


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = _program(
        tmp_path, f"child = os.fork()\nif child: open({str(out)!r}, 'w').write(str(child))\ntime.sleep(600)"
    )
    with pytest.raises(ApprovalError, match="longer than 1 s"):
        notifying.run_command([program], MESSAGE, seconds=1.0)
    child = int(out.read_text())
    _until(lambda: not _lives(child), "the child to end")


def _lives(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip()[:1] not in ("", "Z")


def _until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("argv", "message"),
    [(["/no/such/program"], "cannot be run"), (["false"], "status 1"), (["a\0b"], "cannot be run")],
)
def test_a_program_that_fails_is_told(argv: list[str], message: str) -> None:
    with pytest.raises(ApprovalError, match=message):
        notifying.run_command(argv, MESSAGE)


# ---------------------------------------------------------------- from a hook, and after its end
def _asked(store: SqliteStore, options: dict[str, Any]) -> PersonQuestion:
    context = Context("claude-code", Subject("s1"))
    about = {"tool": "Bash", "input": {"command": "git push"}, "whole": {"command": "git push TOKEN"}, "reasons": []}
    with store.transaction() as tx:
        row = approvals.ask(tx, context, ToolCall("Bash", {}, "/", "c1"), "d", "b", about, time.time(), 60.0)
    return PersonQuestion(context, row.approval, row.expires_at, options)


def _folders(state: str) -> Folders:
    home = os.path.dirname(state)
    return Folders(home, state, os.path.join(home, "config"))


def _notified(store: SqliteStore) -> list[tuple[str, str]]:
    with store.reading() as tx:
        bodies = [json.loads(row.body) for row in tx.audit()]
    return [(body["by"], body["problem"]) for body in bodies if body["event"] == "notified"]


def test_both_ways_are_taken_and_recorded_and_nothing_whole_leaves(
    state: str, store: SqliteStore, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    out = tmp_path / "out"
    program = _program(tmp_path, f"open({str(out)!r}, 'w').write(sys.stdin.read())")
    server.statuses = [500, 500, 202]
    question = _asked(store, {"notify_command": [program], "webhook": {"url": server.url, "secret_env": "HOOK_SECRET"}})
    telling.start(_folders(state), question)
    _until(lambda: len(_notified(store)) == 2, "both to be told")
    assert sorted(_notified(store)) == [("notify_command", ""), ("webhook", "")]
    time.sleep(1)  # whoever told one way and went on with the next would have done so by now
    assert len(_notified(store)) == 2
    assert len(server.requests) == 3
    assert all(_is_signed(*request) for request in server.requests)
    message = json.loads(server.requests[-1][1])
    assert message == json.loads(out.read_text())
    assert (message["approval"], message["input"]) == (question.approval, {"command": "git push"})
    assert question.approval in message["commands"]["approve"]
    assert "TOKEN" not in json.dumps(message)


def test_what_fails_is_recorded(state: str, store: SqliteStore) -> None:
    telling.start(_folders(state), _asked(store, {"notify_command": ["/no/such/program"]}))
    _until(lambda: bool(_notified(store)), "it to be recorded")
    assert _notified(store) == [("notify_command", "notify_command cannot be run: No such file or directory")]


def test_a_program_that_hangs_holds_nobody_up_and_outlives_who_asked(
    state: str, store: SqliteStore, tmp_path: Path
) -> None:
    """Whoever waits is killed with its whole group, as a client does; the person is told all the same."""
    out = tmp_path / "out"
    go = tmp_path / "go"
    waits = f"while not os.path.exists({str(go)!r}): time.sleep(0.02)\nopen({str(out)!r}, 'w').write('told')"
    question = _asked(store, {"notify_command": [_program(tmp_path, waits)]})
    hook = f"""
import sys, time
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import notification_text as telling
from lockgate.core.events import Context
from lockgate.system.folders import Folders
from lockgate.core.model import Subject
question = PersonQuestion(Context("c", Subject("s1")), {question.approval!r}, 0.0, {question.options!r})
telling.start(Folders(*{[*_folders(state)]!r}), question)
print("started", flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", hook], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        assert process.stdout.readline() == b"started\n"
        os.killpg(process.pid, signal.SIGKILL)
    go.write_text("")
    _until(out.exists, "the program to be done")


def test_a_project_s_home_brings_no_program_of_its_own(
    state: str, store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    for folder in (tmp_path, tmp_path / "project"):
        _program(folder, f"open({str(folder / 'told')!r}, 'w').write(os.environ['HOME'])")
    monkeypatch.setenv("HOME", str(tmp_path / "project"))
    telling.start(_folders(state), _asked(store, {"notify_command": ["~/notify"]}))
    _until(lambda: bool(_notified(store)), "it to be recorded")
    assert _notified(store) == [("notify_command", "")]
    assert (tmp_path / "told").read_text() == str(tmp_path)
    assert not (tmp_path / "project" / "told").exists()


def test_without_a_way_nothing_is_started(state: str, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(subprocess, "run", lambda *given, **_: started.append(given))
    for options in (None, {}, {"headless": "wait"}):
        telling.start(_folders(state), _asked(store, {})._replace(options=options))
    assert not started
    telling.start(_folders(state), _asked(store, {})._replace(options={"notify_command": ["x"]}))
    assert started


def test_an_answered_question_is_told_to_nobody(state: str, store: SqliteStore, tmp_path: Path) -> None:
    out = tmp_path / "out"
    question = _asked(store, {"notify_command": [_program(tmp_path, f"open({str(out)!r}, 'w')")]})
    answer(store, state, question.approval, approve=False, by="ann")
    telling.start(_folders(state), question)
    time.sleep(0.5)
    assert not out.exists()
