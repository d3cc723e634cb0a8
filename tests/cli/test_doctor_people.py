"""``lockgate doctor`` on asking a person who is elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.cli.doctor.optional import author_hosts, people
from lockgate.gate.approvals.waiting import WATCHERS
from lockgate.gate.approvals.wakeups import WakeupSocket
from lockgate.store.sqlite.store import SqliteStore

CASES = [
    ("{}", ["ok"], "is refused"),
    ("{headless: wait}", ["ok"], "waits"),
    ("{headless: deny, notify_command: [sh]}", ["ok"], "is refused"),
    ("{notify_command: [sh, -c, x]}", ["ok"], "waits"),
    ("{notify_command: [/bin/sh]}", ["ok"], "waits"),
    ("{notify_command: [no-such-program]}", ["warn"], "not there"),
    ("{notify_command: [~/bin/tell-me]}", ["warn"], "bin/tell-me, which is not there"),
    ("{webhook: {url: 'https://example.com', secret_env: HOOK_SECRET}}", ["ok"], "waits"),
    ("{webhook: {url: 'https://example.com', secret_env: NO_SUCH}}", ["warn"], "not in the variable NO_SUCH"),
    ("{webhook: {url: 'https://example.com'}}", ["warn"], "not signed"),
    ("{webhook: {url: 'http://example.com', secret_env: HOOK_SECRET}}", ["warn"], "not https"),
    ("{webhook: {url: 'http://127.0.0.1:1', secret_env: HOOK_SECRET}}", ["ok"], "waits"),
    ("{headless: wait, expire_seconds: 7200}", ["warn"], "3600 s at most"),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HOOK_SECRET", "x")
    return tmp_path


def _configured(project: Path, approvals: str) -> None:
    config = project / ".config" / "lockgate"
    config.mkdir(parents=True)
    (config / "lockgate.yaml").write_text(f"approvals: {approvals}\n")


@pytest.mark.parametrize(("approvals", "statuses", "said"), CASES)
def test_what_it_says(project: Path, approvals: str, statuses: list[str], said: str) -> None:
    _configured(project, approvals)
    found = list(people(str(project), str(project / "state")))
    assert [status for status, _, _ in found] == statuses
    assert said in found[0][1]
    assert bool(found[0][2]) == (statuses == ["warn"])


def test_it_sees_who_watches(project: Path) -> None:
    _configured(project, "{}")
    SqliteStore.open(str(project / "state")).close()
    with WakeupSocket(str(project / "state"), WATCHERS):
        assert "waits" in next(people(str(project), str(project / "state")))[1]


@pytest.mark.parametrize(
    ("trust", "said"),
    [
        pytest.param("{}", "no service is asked", id="nobody"),
        pytest.param("{owners: [me], lookups: false}", "no service is asked", id="look-ups off"),
        pytest.param("{owners: [me, my-org]}", "asks github.com who", id="GitHub"),
        pytest.param(
            "{owners: [me, git.example/us], apis: {git.example: 'https://api.example'}}",
            "asks git.example (https://api.example), github.com who",
            id="two hosts",
        ),
    ],
)
def test_it_names_the_hosts_that_the_gate_asks_who_wrote_what(project: Path, trust: str, said: str) -> None:
    config = project / ".config" / "lockgate"
    config.mkdir(parents=True)
    (config / "lockgate.yaml").write_text(f"trust: {trust}\n")
    assert said in next(author_hosts(str(project)))[1]
