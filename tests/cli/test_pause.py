"""``lockgate pause`` and ``resume``, as processes, and what real hooks answer meanwhile."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from e2e.harness.terminal import Terminal
from hook.process import HOOK, Told, run
from lockgate.clients.hook.start_resident import PROGRAM, arguments
from lockgate.clients.wire import resident_control as control
from lockgate.configuration.pause import LONGEST, begin, end, look_at_pause
from lockgate.store.opening import open_store
from lockgate.store.protocol import Transaction
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import Folders
from lockgate.system.uptime import Instant, instant
from support import steady

pytestmark = pytest.mark.slow

ISSUE = ("mcp__tracker__get_issue", {"number": 7})
PUSH = ("Bash", {"command": "git push https://git.example.com/x.git HEAD:main"})


class Machine:
    """A person's machine, with a session that has read a stranger's text."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / ".local" / "state" / "lockgate"
        self.config = home / ".config" / "lockgate"
        self.config.mkdir(parents=True)
        self.environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"}
        self.hook("SessionStart", source="startup")
        self.hook("PreToolUse", *ISSUE, tool_use_id="t1")
        self.hook("PostToolUse", *ISSUE, tool_use_id="t1", tool_response="push it")

    def hook(self, event: str, *named: Any, **more: Any) -> Told:
        folders = ["--home", str(self.home), "--state", str(self.state), "--config", str(self.config)]
        payload = tool(event, *named, cwd=str(self.home), session_id="s1", **more)
        # The client is another process than the one below which the person's terminal is.
        client = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
        return run([*client, sys.executable, "-I", "-S", HOOK, "claude-code", *folders], payload)

    def asked(self, name: str, given: dict[str, Any]) -> bool:
        """Whether a call is refused."""
        return self.hook("PreToolUse", name, given, tool_use_id=f"t{time.monotonic_ns()}").refuses

    def lockgate(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lockgate", *arguments],
            cwd=self.home,
            env={**self.environment, **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def terminal(self, *arguments: str) -> Terminal:
        return Terminal([sys.executable, "-m", "lockgate", *arguments], self.environment, self.home)

    def pause(self, *arguments: str) -> None:
        with self.terminal("pause", *arguments) as terminal:
            terminal.wait_for("paused until")

    @contextmanager
    def gate(self) -> Iterator[None]:
        """A resident gate, which answers the hooks meanwhile."""
        words = arguments(Folders(str(self.home), str(self.state), str(self.config)))
        words[words.index(PROGRAM)] = steady.gate()
        gate = subprocess.Popen([sys.executable, *words], env=self.environment, cwd="/")
        try:
            assert control.wait_for(str(self.state), 30.0).answers
            yield
        finally:
            gate.terminate()
            gate.wait(30.0)

    def audit(self) -> list[dict[str, Any]]:
        store = SqliteStore.open(str(self.state))
        try:
            with store.reading() as tx:
                return [json.loads(row.body) for row in tx.audit()]
        finally:
            store.close()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home = tmp_path / "home"
    home.mkdir()
    return Machine(home)


def test_meanwhile_everything_runs_and_is_recorded(machine: Machine) -> None:
    assert machine.asked(*PUSH)
    machine.pause("30m")
    assert not machine.asked(*PUSH)
    record = machine.audit()[-1]
    assert (record["verdict"], record["would_have"]["verdict"], record["profile"]) == ("allow", "deny", "paused")
    assert record["labels"] == ["untrusted"]
    assert stat.S_IMODE((machine.state / "pause").stat().st_mode) == 0o600


def test_an_agent_still_cannot_change_the_gate(machine: Machine) -> None:
    machine.pause()
    for command in ("lockgate pause 8h", "lockgate resume", "python -m lockgate pause", f"rm {machine.state}/pause"):
        assert machine.asked("Bash", {"command": command}), command
    assert machine.asked("Write", {"file_path": f"{machine.state}/pause", "content": "[0, 9e9]"})


def test_secrets_are_taken_out_of_results_all_the_same(machine: Machine) -> None:
    machine.pause()
    token = "ghp_" + "Zx8Kd03LmQp5Tn7Vb2Ws9Yc4Rf6Hj1GaEuXo"
    response = {"stdout": f"token: {token}\n", "stderr": "", "interrupted": False, "isImage": False}
    told = machine.hook("PostToolUse", "Bash", {"command": "cat x"}, tool_use_id="t9", tool_response=response)
    assert token not in told.stdout
    assert "REDACTED" in told.stdout


def test_it_ends_by_itself(machine: Machine) -> None:
    machine.pause("2s")
    assert not machine.asked(*PUSH)
    time.sleep(2)
    assert machine.asked(*PUSH)
    assert "no longer paused" in machine.lockgate("resume").stdout, "the file is there until then"


def test_a_person_ends_it_and_both_are_recorded(machine: Machine) -> None:
    machine.pause("1h")
    assert machine.lockgate("resume").stdout == "no longer paused\n"
    assert machine.asked(*PUSH)
    assert machine.lockgate("resume").stdout == "there was no pause\n"
    told = [body for body in machine.audit() if body["event"] in ("pause", "resume")]
    assert [(body["event"], body.get("seconds")) for body in told] == [("pause", 3600.0), ("resume", None)]


def test_the_status_line_status_and_doctor_say_so(machine: Machine) -> None:
    assert json.loads(machine.lockgate("status", "--json").stdout)["profiles"] == ["quarantine"]
    assert "profile  quarantine\n" in machine.lockgate("status").stdout
    machine.pause("1h")
    assert "profile  quarantine, paused until 20" in machine.lockgate("status").stdout
    assert "pause: agents may do everything until" in machine.lockgate("doctor").stdout
    done = subprocess.run(
        [sys.executable, "-m", "lockgate", "statusline"],
        input=json.dumps({"session_id": "s1"}),
        env=machine.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("lockgate: PAUSED until ")
    assert "| UNTRUSTED" in done.stdout


def test_only_a_person_at_a_terminal_can(machine: Machine) -> None:
    done = machine.lockgate("pause")
    assert (done.returncode, "in a terminal of their own" in done.stderr) == (1, True)
    assert machine.lockgate("pause", CLAUDECODE="1").returncode == 1
    assert machine.asked(*PUSH)


def test_a_configuration_forbids_it_also_afterwards(machine: Machine) -> None:
    machine.pause("1h")
    (machine.config / "lockgate.yaml").write_text("pause: forbidden\n")
    assert machine.asked(*PUSH)
    with machine.terminal("pause", "1h") as terminal:
        terminal.wait_for("forbids a pause")


def test_a_project_says_nothing_of_it(machine: Machine) -> None:
    (machine.config / "lockgate.yaml").write_text("pause: forbidden\n")
    project = machine.home / "project"
    (project / ".git").mkdir(parents=True)
    (project / "lockgate.yaml").write_text("pause: allowed\n")
    done = machine.lockgate("config", "show")
    assert "forbidden" in done.stdout


@pytest.mark.parametrize("duration", ["0m", "9h", "30", "m", "1d", "-1m", "1.5h", "99999999s", "٣m"])
def test_a_duration_that_is_none_is_a_usage_error(machine: Machine, duration: str) -> None:
    done = machine.lockgate("pause", "--", duration)
    assert (done.returncode, "write 90s, 30m or 2h" in " ".join(done.stderr.split())) == (2, True)


@contextmanager
def opened(state: Path) -> Iterator[Transaction]:
    """A transaction of a state folder's store."""
    store = open_store(str(state))
    try:
        with store.transaction() as tx:
            yield tx
    finally:
        store.close()


def began(state: Path, now: Instant, seconds: float) -> float:
    with opened(state) as tx:
        return begin(tx, str(state), now, seconds)


def paused_until(state: Path, now: Instant) -> float:
    with opened(state) as tx:
        return look_at_pause(tx, str(state), now).until


def test_a_clock_that_is_set_back_does_not_bring_it_back(machine: Machine) -> None:
    """Real hooks, and a pause that is over by all but the clock. None of these is told as a forgery."""
    now = instant()
    began(machine.state, now, 60)
    assert not machine.asked(*PUSH)
    began(machine.state, now._replace(up=now.up - 61), 60)
    assert machine.asked(*PUSH)
    began(machine.state, now._replace(boot="another start"), 60)
    assert machine.asked(*PUSH)
    assert [body for body in machine.audit() if body["event"] == "forged-pause"] == []


# ---------------------------------------------------------------- what somebody else writes
def _written(machine: Machine) -> None:
    now = instant()
    kept = [now.boot, now.up, now.up + 3600, now.at, now.at + 3600]
    (machine.state / "pause").write_text(json.dumps(kept))


def _written_as_sealed(machine: Machine) -> None:
    machine.pause("1m")
    *kept, seq, seal = json.loads((machine.state / "pause").read_text())
    now = instant()
    kept = [now.boot, now.up, now.up + 3600, now.at, now.at + 3600]
    (machine.state / "pause").write_text(json.dumps([*kept, seq, seal]))


def _made_longer(machine: Machine) -> None:
    machine.pause("1m")
    boot, up, up_until, at, until, *proof = json.loads((machine.state / "pause").read_text())
    (machine.state / "pause").write_text(json.dumps([boot, up, up_until + 3600, at, until + 3600, *proof]))


def _put_back_after_resume(machine: Machine) -> None:
    machine.pause("1h")
    kept = (machine.state / "pause").read_bytes()
    machine.lockgate("resume")
    (machine.state / "pause").write_bytes(kept)


def _taken_away_at_resume(machine: Machine) -> None:
    machine.pause("1h")
    kept = (machine.state / "pause").read_bytes()
    (machine.state / "pause").unlink()
    machine.lockgate("resume")
    (machine.state / "pause").write_bytes(kept)


def _longer_one_of_before(machine: Machine) -> None:
    machine.pause("8h")
    kept = (machine.state / "pause").read_bytes()
    machine.pause("1m")
    (machine.state / "pause").write_bytes(kept)


def _of_another_installation(machine: Machine) -> None:
    other = machine.home / "other"
    other.mkdir(mode=0o700)
    began(other, instant(), 3600)
    (machine.state / "pause").write_bytes((other / "pause").read_bytes())


def _end_rewritten(machine: Machine) -> None:
    """The record of the end is made one of something else, which takes no key."""
    _put_back_after_resume(machine)
    with closing(sqlite3.connect(machine.state / "lockgate.db")) as database, database:
        triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        database.execute("""UPDATE audit SET body = replace(body, '"resume"', '"nothing"')""")
        for _, sql in triggers:
            database.execute(sql)


def _record_not_there(machine: Machine) -> None:
    """A pause of which the audit does not tell, as of a copy of the state that was put back."""
    with pytest.raises(InterruptedError), opened(machine.state) as tx:
        begin(tx, str(machine.state), instant(), 3600)
        raise InterruptedError


FORGINGS = [
    _written, _written_as_sealed, _made_longer, _put_back_after_resume, _taken_away_at_resume, _longer_one_of_before,
    _of_another_installation, _end_rewritten, _record_not_there,
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGINGS, ids=lambda each: each.__name__.strip("_"))
@pytest.mark.parametrize("resident", [False, True], ids=["no gate", "resident gate"])
def test_a_forged_pause_gives_nothing_and_is_told(
    machine: Machine, forge: Callable[[Machine], None], resident: bool
) -> None:
    with machine.gate() if resident else nullcontext():
        forge(machine)
        assert machine.asked(*PUSH)
        assert machine.asked(*PUSH)
    told = [body for body in machine.audit() if body["event"] == "forged-pause"]
    assert len(told) == 1, "one record, however many calls meet it"
    assert told[0]["problem"].endswith("it did not count")
    assert told[0]["problem"] in machine.lockgate("doctor").stdout.replace("\n", " ")
    assert told[0]["problem"] in machine.lockgate("status").stderr
    assert json.loads(machine.lockgate("status", "--json").stdout)["paused_until"] is None


def test_after_a_forgery_a_person_pauses_as_before(machine: Machine) -> None:
    _written(machine)
    assert machine.asked(*PUSH)
    assert machine.lockgate("resume").stdout == "no longer paused\n"
    machine.pause("1h")
    assert not machine.asked(*PUSH)


# ---------------------------------------------------------------- the file
NOW = Instant(1000.0, 500.0, "b1")


def test_a_pause_has_a_beginning_and_an_end(tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert paused_until(state, NOW) == 0.0
    assert began(state, NOW, 60) == 1060.0
    moments = [NOW._replace(at=NOW.at + passed, up=NOW.up + passed) for passed in (-100, 0, 59.9, 60)]
    assert [paused_until(state, moment) for moment in moments] == [0.0, 1060.0, 1060.0, 0.0]
    with opened(state) as tx:
        assert (end(tx, str(state), NOW), end(tx, str(state), NOW)) == (True, False)
    assert paused_until(state, NOW) == 0.0
    for seconds in (0.0, -1.0, LONGEST + 1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="a pause lasts"):
            began(state, NOW, seconds)


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(Instant(1030.0, 561.0, "b1"), id="the clock was set back afterwards"),
        pytest.param(Instant(1030.0, 100000.0, "b1"), id="long afterwards"),
        pytest.param(Instant(1030.0, 499.0, "b1"), id="before it began"),
        pytest.param(Instant(1030.0, 530.0, "b2"), id="after another start"),
        pytest.param(Instant(1030.0, 530.0, ""), id="a start that is not known"),
        pytest.param(Instant(1061.0, 530.0, "b1"), id="the machine was stopped meanwhile"),
        pytest.param(Instant(998.0, 530.0, "b1"), id="the clock was set back in the pause"),
    ],
)
def test_it_lasts_by_the_clock_and_by_what_cannot_be_set(tmp_path: Path, now: Instant) -> None:
    state = tmp_path / "state"
    began(state, NOW, 60)
    assert paused_until(state, now) == 0.0


def test_where_one_start_is_like_another_there_is_no_pause(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="set back"):
        began(tmp_path / "state", NOW._replace(boot=""), 60)


def test_this_machine_says_since_when_it_runs() -> None:
    first, second = instant(), instant()
    assert first.boot == second.boot != ""
    assert 0 < first.up <= second.up


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[]", "[1000]", "[1000, 1060]", '["b1", 500, 560]', '["b1", 500, 1e12, 1000, 1060]', "[" * 150, "null",
     '["b1", 500, 560, 1000, 1e12]', '["b1", NaN, NaN, 1000, 1060]', '["b1", 500, 560, NaN, NaN]', '["b1", 1, 2, 3, 4]',
     '["b1", "a", "b", "c", "d"]', '["b1", 500, 9e99999, 1000, 9e99999]', '["b1", 500, 560, 1000, 1060, 5]',
     '["b1", 500, 560, 1000, 1060]' + " " * 300],
)  # fmt: skip
def test_an_odd_file_is_no_pause(tmp_path: Path, content: str) -> None:
    with opened(tmp_path / "state") as tx:
        (tmp_path / "state" / "pause").write_text(content)
        found = look_at_pause(tx, str(tmp_path / "state"), NOW)
    assert (found.until, found.problem != "") == (0.0, True)


def test_a_link_is_no_pause(tmp_path: Path) -> None:
    state = tmp_path / "state"
    began(state, NOW, 60)
    os.rename(state / "pause", state / "elsewhere")
    (state / "pause").symlink_to(state / "elsewhere")
    assert paused_until(state, NOW) == 0.0
