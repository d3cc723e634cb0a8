"""A dashboard's server in a process of its own, on a machine of its own, and browsers that speak to it."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from lockgate.core.events import Context
from lockgate.core.model import Label, Subject, Taint, ToolCall
from lockgate.gate.approvals import questions as approvals
from lockgate.store.opening import open_store
from lockgate.store.rows import ApprovalRow, SessionRow
from support import steady
from support.postgres import use

PROCESS = Path(__file__).parent / "api_process.py"
_PATIENCE = 20.0


class Machine:
    """A person's machine: a home, a state with a store, and a dashboard where one was started."""

    def __init__(self, root: Path, shared: str = "") -> None:
        self.home = root / "home"
        self.home.mkdir(parents=True)
        self.state = str(self.home / ".local" / "state" / "lockgate")
        if shared:
            use(Path(self.state), shared)
        self.store: Any = open_store(self.state, busy_seconds=20)
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "USER": "ann",
            "LOGNAME": "ann",
            "LOCKGATE_RESIDENT": "off",
            "PYTHONPATH": steady.path(Path(__file__).parents[1]),
        }

    def session(self, session: str, **fields: Any) -> None:
        now = time.time()
        row = SessionRow(session, "claude-code", "/work/shop", "/work/shop", started_at=now, seen_at=now)
        with self.store.transaction() as tx:
            tx.put_session(row._replace(**fields))

    def taint(self, session: str, label: Label, source: str, call: str = "c1", agent: str = "") -> None:
        with self.store.transaction() as tx:
            tx.add_taints(Subject(session, agent), [Taint(label, source, "WebFetch", call, time.time())])

    def decided(self, session: str = "s1", command: str = "git push", verdict: str = "deny", **fields: Any) -> int:
        """Record a decision; gives its number."""
        body = {
            "event": "decision", "client": "claude-code", "session": session, "agent": "", "cwd": "/work/shop",
            "tool": "Bash", "call": "c1", "digest": "d" * 64, "input": {"command": command}, "labels": ["untrusted"],
            "provenance": [{"label": "untrusted", "source": "WebFetch: https://x", "tool": "WebFetch", "call": "c0",
                            "at": 1e9, "state": "confirmed", "origin": ""}],
            "effects": [{"row": "egress", "what": "origin", "rule": "program:git/push", "because": "it sends",
                         "gives": None}],
            "effects_omitted": 0, "verdict": verdict, "column": "untrusted", "profile": "quarantine",
            "reasons": [{"rule": "program:git/push", "row": "egress", "because": "it sends"}],
            "cascade": {"tier": "table", "ms": 0.4},
        } | fields  # fmt: skip
        return self.recorded(body)

    def recorded(self, body: dict[str, Any]) -> int:
        with self.store.transaction() as tx:
            return tx.append_audit(time.time(), body).seq

    def asked(
        self, command: str = "git push origin main", seconds: float = 300.0, digest: str = "", **about: Any
    ) -> str:
        """Put a question to the person; gives its id. Without a digest it is about a call of its own."""
        told = {
            "event": "decision", "cwd": "/work/shop", "tool": "Bash", "input": {"command": command},
            "whole": {"command": command, "timeout": 5}, "labels": ["untrusted"], "column": "untrusted",
            "profile": "quarantine", "effects_omitted": 0, "brief": "",
            "reasons": [{"rule": "program:git/push", "row": "egress", "because": "`git push` sends commits"}],
            "effects": [{"row": "egress", "what": "origin", "rule": "program:git/push", "because": "it sends",
                         "gives": None}],
            "provenance": [{"label": "untrusted", "source": "mcp__tracker__get_issue", "tool": "x", "call": "c0",
                            "at": 1e9, "state": "confirmed", "origin": ""}],
        }  # fmt: skip
        now = time.time()
        call = ToolCall("Bash", {}, "/work/shop", f"c{time.monotonic_ns()}")
        with self.store.transaction() as tx:
            context = Context("claude-code", Subject("s1"), "/work/shop")
            digest = digest or hashlib.sha256(call.call_id.encode()).hexdigest()
            return approvals.ask(tx, context, call, digest, "b" * 64, {**told, **about}, now, seconds).approval

    def row(self, approval: str) -> ApprovalRow:
        with self.store.reading() as tx:
            row = tx.approval(approval)
        assert row is not None
        return row

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lockgate", *arguments],
            env={**self.environment, **environment},
            cwd=self.home,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    def serve(self, **settings: Any) -> Server:
        return Server(self, {"browser": False, **settings})


class Server:
    """A running server."""

    def __init__(self, machine: Machine, settings: dict[str, Any]) -> None:
        self.machine = machine
        self.process = subprocess.Popen(
            [sys.executable, str(PROCESS), json.dumps(settings)],
            env=machine.environment,
            cwd=machine.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self.logged: list[str] = []
        self._clients: list[httpx.Client] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._threads = [
            threading.Thread(target=self._read, args=(pipe, kept), daemon=True)
            for pipe, kept in ((self.process.stdout, self.said), (self.process.stderr, self.logged))
        ]
        for thread in self._threads:
            thread.start()
        self.url = self._wait(r"listens at (\S+) until").rstrip("/")
        self.port = int(self.url.rpartition(":")[2])
        self.token = "" if settings.get("tokens_only") else self._wait(r"#login=(\S+)")

    def _read(self, pipe: Any, kept: list[str]) -> None:
        for line in pipe:
            kept.append(line)
            if kept is self.said:
                self._lines.put(line)

    def _wait(self, pattern: str) -> str:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                line = self._lines.get(timeout=0.2)
            except queue.Empty:
                gone = self.process.poll() is not None
                assert not gone and time.monotonic() < deadline, f"{self.said} {self.logged}"
                continue
            if found := re.search(pattern, line):
                return found[1]

    def another_link(self) -> str:
        """The token of a new link, as Enter gives one."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self._wait(r"#login=(\S+)")

    def wait_for(self, words: str) -> None:
        """Wait until something is told at the terminal."""
        self._wait(f"({re.escape(words)})")

    def browser(self, **options: Any) -> httpx.Client:
        """A browser with the dashboard's own page open, before anybody logs in."""
        return self.client({"Origin": self.url, "Sec-Fetch-Site": "same-origin"}, **options)

    def person(self, **options: Any) -> httpx.Client:
        """A browser in which the person has logged in."""
        client = self.browser(**options)
        told = client.post("login", json={"token": self.another_link()})
        assert told.status_code == 200, told.text
        client.headers["X-CSRF-Token"] = told.json()["csrf"]
        return client

    def program(self, token: str) -> httpx.Client:
        """A program with a token."""
        return self.client({"Authorization": f"Bearer {token}"})

    def client(self, headers: Mapping[str, str] = {}, **options: Any) -> httpx.Client:
        """Somebody who asks; it is closed with the server."""
        base = f"{self.url}/api/v1/"
        self._clients.append(httpx.Client(base_url=base, headers=dict(headers), timeout=30, **options))
        return self._clients[-1]

    def stop(self) -> None:
        """End it, as Ctrl-C does."""
        for client in self._clients:
            client.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self._threads:
            thread.join(5)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def read_all(connection: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)
