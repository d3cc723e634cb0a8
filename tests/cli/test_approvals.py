"""``lockgate approvals``, ``approve`` and ``deny``, as processes: with a terminal, without one, and below an agent."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.terminal import Terminal
from lockgate.cli.common.ancestors import look_up
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals import wakeups
from lockgate.gate.approvals.waiting import WATCHERS
from lockgate.gate.monitor import deployments
from lockgate.store.rows import SessionRow
from lockgate.system.folders import user_name
from support.person import Machine, opened

pytestmark = pytest.mark.slow

PROMPT = "Let exactly this run, once?"
ABOUT = {
    "event": "decision",
    "cwd": "/work/shop",
    "tool": "Bash",
    "input": {"command": "git push https://git.example.com/x"},
    "whole": {"command": "git push https://git.example.com/x\n\x1b[2Jecho \u202edone", "timeout": 5},
    "labels": ["untrusted"],
    "column": "untrusted",
    "profile": "quarantine",
    "reasons": [{"rule": "program:git/push", "row": "egress", "because": "`git push` sends \x1b]0;x\x07 commits"}],
    "effects": [
        {"row": "egress", "what": "git.example.com", "rule": "program:git/push", "because": "it sends", "gives": None}
    ],
    "effects_omitted": 0,
    "provenance": [
        {"label": "untrusted", "source": "mcp__tracker__get_issue \x1b[31m7", "tool": "x", "at": 1e9, "origin": ""}
    ],
}


class Desk(Machine):
    """A person's machine with questions."""

    def asked(self, seconds: float = 300.0, digest: str = "", **about: Any) -> str:
        context = Context("claude-code", Subject("s1"), "/work/shop")
        now = time.time()
        with self.store.transaction() as tx:
            call = ToolCall("Bash", {}, "/work/shop", f"c{time.monotonic_ns()}")
            return approvals.ask(
                tx, context, call, digest or call.call_id, "b", {**ABOUT, **about}, now, seconds
            ).approval


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(Desk, tmp_path) as desk:
        yield desk


# ---------------------------------------------------------------- showing
def test_show_tells_all_of_it_and_nothing_that_moves_a_cursor(desk: Desk) -> None:
    approval = desk.asked()
    done = desk.run("approvals", "show", approval)
    assert done.returncode == 0
    for text in (
        approval,
        "/work/shop",
        "session s1",
        "git push https://git.example.com/x",
        "\\e[2Jecho \\u{202e}done",
        "timeout: 5",
        "program:git/push",
        "git.example.com",
        "mcp__tracker__get_issue \\e[31m7",
        "left",
    ):
        assert text in done.stdout
    assert not set(done.stdout) & set("\x1b\x07\u202e")


def test_a_long_call_is_shown_uncut(desk: Desk) -> None:
    lines = [f"line {number} {'x' * 500}" for number in range(400)]
    approval = desk.asked(tool="Write", whole={"file_path": "/a", "content": "\n".join(lines)})
    shown = desk.run("approvals", "show", approval).stdout
    assert all(line in shown for line in lines)


def test_what_would_push_the_rest_out_of_sight_is_counted(desk: Desk) -> None:
    command = "ls" + " " * 9000 + "; git push g\u0456thub" + "\n" * 900 + "true"
    shown = desk.run("approvals", "show", desk.asked(whole={"command": command})).stdout
    assert "ls[... 9000 spaces ...]; git push g\\u{456}thub" in shown
    assert "[... 899 empty lines ...]" in shown
    assert shown.count("\n") < 40


def test_names_and_the_folder_are_shown_uncut(desk: Desk) -> None:
    """Another folder or field is another call, however long the names before it are."""
    folder, name, tool = ("/work/" + "shop/" * 100 + "x", "note " * 100 + "bcc", "mcp__" + "mail" * 100 + "__send")
    approval = desk.asked(tool=tool, cwd=folder, whole={name: "eve@example.com"})
    shown = desk.run("approvals", "show", approval).stdout
    for text in (folder, name, tool):
        assert text in shown


def test_list_and_its_json(desk: Desk) -> None:
    assert desk.run("approvals", "list").stdout == "no question waits\n"
    assert json.loads(desk.run("approvals", "list", "--json").stdout) == []
    first, second, over = desk.asked(), desk.asked(), desk.asked(seconds=-1.0)
    shown = desk.run("approvals", "list").stdout
    lines = shown.splitlines()
    assert [line.split()[0] for line in lines[::2]] == [first, second]
    assert all("its agent is gone" in line for line in lines[1::2]), "no hook waits in this test"
    told = json.loads(desk.run("approvals", "list", "--json").stdout)
    assert [(each["approval"], each["state"], each["tool"]) for each in told] == [
        (first, "pending", "Bash"),
        (second, "pending", "Bash"),
    ]
    assert "whole" not in told[0]
    everything = json.loads(desk.run("approvals", "list", "--all", "--json").stdout)
    assert over in [each["approval"] for each in everything]


def test_show_as_json_has_the_whole_call(desk: Desk) -> None:
    told = json.loads(desk.run("approvals", "show", desk.asked(), "--json").stdout)
    assert told["whole"] == ABOUT["whole"]


def test_where_nothing_was_recorded_nothing_waits(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "lockgate", "approvals"]
    done = subprocess.run([*command, "list"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "no question waits\n")
    done = subprocess.run([*command, "show", "x"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert not (tmp_path / ".local").exists()


def test_ids_are_completed(desk: Desk) -> None:
    approval = desk.asked()
    done = desk.run(_LOCKGATE_COMPLETE="zsh_complete", COMP_WORDS=f"lockgate approve {approval[:3]}", COMP_CWORD="2")
    assert approval in done.stdout


HOSTILE = "x\nplain\n$(touch ran)\n`touch ran` \x1b]0;t\x07 * ; \u202e"
"""What an agent asks to run, made to become further completions, commands, or a terminal's orders."""


@pytest.mark.parametrize(("shell", "lines"), [("zsh", 3), ("fish", 1)])
def test_what_a_question_asks_stays_the_help_of_its_id(desk: Desk, shell: str, lines: int) -> None:
    desk.asked(input={"command": HOSTILE}, tool=HOSTILE)
    asked = {"zsh": {"COMP_WORDS": "lockgate approve ", "COMP_CWORD": "2"}, "fish": {"COMP_WORDS": "lockgate approve "}}
    done = desk.run(_LOCKGATE_COMPLETE=f"{shell}_complete", **{"COMP_CWORD": "", **asked[shell]})
    told = done.stdout.splitlines()
    assert len(told) == lines
    assert all(line.replace("\t", "").isprintable() for line in told)


def test_a_real_shell_completes_the_id_alone(desk: Desk) -> None:
    approval = desk.asked(input={"command": HOSTILE}, tool=HOSTILE)
    program = desk.home / "lockgate"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lockgate "$@"\n')
    program.chmod(0o755)
    completed = """
        complete() { :; }
        eval "$(./lockgate completion bash)"
        COMP_WORDS=(./lockgate approve "") COMP_CWORD=2
        _lockgate_completion ./lockgate
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    command = ["bash", "--norc", "-c", completed]
    done = subprocess.run(command, env=desk.environment, cwd=desk.home, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{approval}\n", "")
    assert not (desk.home / "ran").exists()


# ---------------------------------------------------------------- answering
@pytest.mark.parametrize("keys", ["y", "n", ""])
def test_a_person_reads_and_answers(desk: Desk, keys: str) -> None:
    approval = desk.asked()
    with wakeups.WakeupSocket(desk.state, approval) as wakeup, desk.terminal("approve", approval) as terminal:
        terminal.wait_for(PROMPT)
        assert "git push https://git.example.com/x" in terminal.text
        assert "Whom it can reach" in terminal.text
        terminal.press(f"{keys}\r")
        terminal.wait_for("approved, once" if keys == "y" else "Aborted!")
        if keys == "y":
            wakeup.wait(0.5)
    row = desk.row(approval)
    assert row.state == ("approved" if keys == "y" else "pending")
    assert row.decided_by.endswith("(terminal)") == (keys == "y")
    with desk.store.reading() as tx:
        assert len([record for record in tx.audit() if '"event":"approve"' in record.body]) == (keys == "y")


def test_who_answers_is_asked_of_the_system_and_not_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "mallory")
    assert user_name() == pwd.getpwuid(os.geteuid()).pw_name
    monkeypatch.setattr(os, "geteuid", lambda: 2**31 - 7)
    assert user_name() == str(2**31 - 7), "the system knows no name"


def test_what_is_typed_before_it_was_read_does_not_count(desk: Desk) -> None:
    """Pasted with the command: nobody can have read what it answers."""
    approval = desk.asked()
    with desk.terminal("approve", approval) as terminal:
        terminal.press("y\ry\ry\r")
        terminal.wait_for(PROMPT)
        assert desk.row(approval).state == "pending"
        terminal.press("n\r")
        terminal.wait_for("Aborted!")
    assert desk.row(approval).state == "pending"


def test_yes_shows_it_all_the_same(desk: Desk) -> None:
    approval = desk.asked()
    with desk.terminal("approve", approval.upper(), "--yes") as terminal:
        terminal.wait_for("approved, once")
        assert "git push https://git.example.com/x" in terminal.text
    assert desk.row(approval).state == "approved"


PAGE = {"url": "https://docs.example.com/a?x=1", "prompt": "p"}
READING = [{"rule": "address:fetch", "row": "fetch", "because": "the address itself can carry data out"}]


def test_a_yes_to_all_pages_of_a_host_says_which(desk: Desk) -> None:
    approval = desk.asked(tool="WebFetch", whole=PAGE, reasons=READING)
    with desk.terminal("approve", approval, "--fetches") as terminal:
        terminal.wait_for("Let this agent read every page of docs.example.com")
        terminal.press("y\r")
        terminal.wait_for("approved, and all fetches of its host")
    row = desk.row(approval)
    assert (row.state, row.about["fetches"]) == ("approved", {"host": "docs.example.com", "labels": ["untrusted"]})


@pytest.mark.parametrize("labels", [["untrusted"], ["secret", "untrusted"]])
def test_what_is_no_page_alone_is_not_approved_with_others(desk: Desk, labels: list[str]) -> None:
    page: dict[str, Any] = {"tool": "WebFetch", "whole": PAGE, "reasons": READING} if len(labels) == 2 else {}
    approval = desk.asked(labels=labels, **page)
    with desk.terminal("approve", approval, "--fetches", "--yes") as terminal:
        terminal.wait_for("approve it once")
    assert desk.row(approval).state == "pending"


def test_a_refusal_carries_its_reason(desk: Desk) -> None:
    approval = desk.asked()
    with desk.terminal("deny", approval, "--reason", "not on a Friday") as terminal:
        terminal.wait_for("denied")
    row = desk.row(approval)
    assert (row.state, row.reason) == ("denied", "not on a Friday")


def test_a_no_is_taken_back_at_a_terminal_and_recorded(desk: Desk) -> None:
    first = desk.asked(digest="d")
    with desk.terminal("approvals", "retract", first) as terminal:
        terminal.wait_for("there is no refusal to take back: this question is pending")
    with desk.terminal("deny", first) as terminal:
        terminal.wait_for("denied")
    second = desk.asked(digest="d")
    with desk.terminal("approve", second, "--yes") as terminal:
        terminal.wait_for("lockgate approvals retract")
    assert desk.row(second).state == "pending"
    with desk.terminal("approvals", "retract", first.upper()) as terminal:
        terminal.wait_for("taken back")
    assert desk.row(first).state == "changed"
    with desk.terminal("approve", second, "--yes") as terminal:
        terminal.wait_for("approved, once")
    with desk.store.reading() as tx:
        told = [json.loads(record.body) for record in tx.audit()]
    assert [(body["event"], body["approval"]) for body in told] == [
        ("deny", first),
        ("retract", first),
        ("approve", second),
    ]


def test_a_no_answers_every_question_about_the_same_call(desk: Desk) -> None:
    first, second, other = desk.asked(digest="d"), desk.asked(digest="d"), desk.asked()
    with desk.terminal("deny", first) as terminal:
        terminal.wait_for("denied")
    assert desk.row(other).state == "pending"
    assert (desk.row(second).state, desk.row(second).decided_by) == ("denied", desk.row(first).decided_by)
    with desk.store.reading() as tx:
        assert [json.loads(record.body)["also"] for record in tx.audit()] == [[second]]


def test_what_cannot_be_seen_whole_cannot_be_approved(desk: Desk) -> None:
    approval = desk.asked()
    row = desk.row(approval)
    with desk.store.transaction() as tx:
        tx.put_approval(row._replace(about={name: value for name, value in row.about.items() if name != "whole"}))
    with desk.terminal("approve", approval, "--yes") as terminal:
        terminal.wait_for("not kept whole")
    assert desk.row(approval).state == "pending"


def test_a_question_that_was_answered_says_so(desk: Desk) -> None:
    """What it was about is not kept any longer then: that is not why it cannot be approved."""
    approval = desk.asked()
    row = desk.row(approval)
    with desk.store.transaction() as tx:
        tx.put_approval(row._replace(state="used", about={}))
    with desk.terminal("approve", approval, "--yes") as terminal:
        terminal.wait_for("not open any more: it is used")


@pytest.mark.parametrize(
    ("seconds", "approval", "said"),
    [(-1.0, "", "is over"), (300.0, "2222222222", "no question with this id")],
)
def test_what_cannot_be_answered_says_so(desk: Desk, seconds: float, approval: str, said: str) -> None:
    known = desk.asked(seconds=seconds)
    with desk.terminal("approve", approval or known, "--yes") as terminal:
        terminal.wait_for(said)
    assert desk.row(known).state == "pending"


# ---------------------------------------------------------------- who may not
@pytest.mark.parametrize(
    "command", [("approve", "--yes"), ("deny",), ("approvals", "retract")], ids=lambda command: command[0]
)
@pytest.mark.parametrize("variable", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "LOCKGATE_CONTAINED"])
def test_an_agent_s_shell_may_not_even_in_a_terminal(desk: Desk, command: tuple[str, ...], variable: str) -> None:
    approval = desk.asked()
    with desk.terminal(*command, approval, **{variable: "1"}) as terminal:
        terminal.wait_for("only a person may")
        assert variable in terminal.text
    assert desk.row(approval).state == "pending"


@pytest.mark.parametrize("command", [("approve", "--yes"), ("deny",)], ids=lambda command: command[0])
def test_without_a_terminal_nobody_may(desk: Desk, command: tuple[str, ...]) -> None:
    approval = desk.asked()
    done = desk.run(*command, approval)
    assert done.returncode == 1
    assert "only a person may" in done.stderr
    assert desk.row(approval).state == "pending"


def test_a_terminal_that_is_not_its_own_is_none(desk: Desk) -> None:
    """A terminal on all three descriptors, of another session: as a program has it that was handed one."""
    approval = desk.asked()
    leaves = "import os, sys; os.setsid(); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", leaves, *desk.argv("approve", approval, "--yes")]
    argv = ["/bin/sh", "-c", '"$@"; echo "code $?"', "sh", "/bin/sh", "-c", '"$@"; exit $?', "sh", *command]
    with Terminal(argv, desk.environment, desk.home) as terminal:
        terminal.wait_for("code 1")
        assert "only a person may" in terminal.text
    assert desk.row(approval).state == "pending"


def test_a_client_that_the_gate_knows_is_found_above(desk: Desk) -> None:
    """A shell whose process the store has as an agent's client: whatever it is called and sets."""
    approval = desk.asked()
    script = f'echo $$ >{desk.root}/pid; while [ ! -e {desk.root}/go ]; do sleep 0.05; done; "$@"; :'
    argv = ["/bin/sh", "-c", script, "sh", *desk.argv("approve", approval, "--yes")]
    with Terminal(argv, desk.environment, desk.home) as terminal:
        terminal.wait_until(lambda: bool(_read(desk.root / "pid")), "the shell to start")
        process = look_up(int(_read(desk.root / "pid")))
        assert process is not None
        with desk.store.transaction() as tx:
            tx.put_session(SessionRow("s1", process=process.identity))
        (desk.root / "go").write_text("")
        terminal.wait_for("this runs below an agent")
    assert desk.row(approval).state == "pending"


def test_a_client_by_its_name_is_found_above(desk: Desk) -> None:
    approval = desk.asked()
    client = desk.root / "claude"
    client.symlink_to("/bin/bash")
    script = " ".join(map(repr, desk.argv("approve", approval, "--yes"))) + "; :"
    with Terminal([str(client), "-c", script], desk.environment, desk.home) as terminal:
        terminal.wait_for("this runs below an agent (claude")
    assert desk.row(approval).state == "pending"


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


# ---------------------------------------------------------------- watching
def test_watch_shows_what_comes_and_takes_the_answer(desk: Desk) -> None:
    with desk.terminal("approvals", "watch") as terminal:
        terminal.wait_for("waiting for questions")
        assert wakeups.is_waited_for(desk.state, WATCHERS)
        first = desk.asked()
        wakeups.wake(desk.state, WATCHERS)
        terminal.wait_for(PROMPT)
        assert "git push https://git.example.com/x" in terminal.text
        terminal.press("n not on a Friday\r")
        terminal.wait_for("denied")
        second = desk.asked(tool="WebFetch")
        wakeups.wake(desk.state, WATCHERS)
        terminal.wait_until(lambda: terminal.text.count(PROMPT) == 2, "the second question")
        terminal.press("y\r")
        terminal.wait_for("approved, once")
    assert (desk.row(first).state, desk.row(first).reason) == ("denied", "not on a Friday")
    assert desk.row(second).state == "approved"
    assert not wakeups.is_waited_for(desk.state, WATCHERS)


def test_watch_goes_on_where_another_answers(desk: Desk) -> None:
    approval = desk.asked()
    with desk.terminal("approvals", "watch") as terminal:
        terminal.wait_for(PROMPT)
        with desk.terminal("deny", approval) as other:
            other.wait_for("denied")
        terminal.wait_until(lambda: terminal.text.count("denied") == 1, "the other's answer")
        again = desk.asked()
        wakeups.wake(desk.state, WATCHERS)
        terminal.wait_until(lambda: again in terminal.text, "the next question")


def test_watch_as_json_asks_nothing(desk: Desk) -> None:
    approval = desk.asked()
    with subprocess.Popen(
        desk.argv("approvals", "watch", "--json"), env=desk.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["approval"] == approval
        process.terminate()
    assert desk.row(approval).state == "pending"


def test_watch_is_nothing_for_an_agent(desk: Desk) -> None:
    approval = desk.asked()
    with desk.terminal("approvals", "watch", CLAUDECODE="1") as terminal:
        terminal.wait_for("only a person may")
    assert desk.row(approval).state == "pending"


# ---------------------------------------------------------------- deployments
def test_deployments_are_listed_and_forgotten(desk: Desk) -> None:
    with desk.store.transaction() as tx:
        deployments.remember(tx, [["a" * 32, "`.env` reaches `fly`\x1b[2J"]], 1.0)
    listed = desk.run("approvals", "deployments")
    assert listed.returncode == 0
    assert listed.stdout.startswith("a" * 32 + "  `.env` reaches `fly`")
    assert "\x1b" not in listed.stdout
    assert desk.run("approvals", "forget", "b" * 32).returncode == 1
    assert desk.run("approvals", "forget", "a" * 32).returncode == 0
    assert "no deployment" in desk.run("approvals", "deployments").stdout


def test_a_deployment_that_was_answered_in_a_clients_window_is_remembered_by_a_person(desk: Desk) -> None:
    with desk.store.transaction() as tx:
        deployments.note(tx, [["a" * 32, "`.env` reaches `fly`"]], 1.0)
    listed = desk.run("approvals", "deployments").stdout
    assert "`.env` reaches `fly` (asked about again)" in listed
    assert "no deployment is remembered" in listed
    assert "terminal" in desk.run("approvals", "remember", "a" * 32).stderr
    with desk.store.reading() as tx:
        assert not deployments.is_known(tx, "a" * 32)
    with desk.terminal("approvals", "remember", "b" * 32) as terminal:
        terminal.wait_for("there is no such deployment")
    with desk.terminal("approvals", "remember", "a" * 32) as terminal:
        terminal.wait_for("not asked about again: `.env` reaches `fly`")
    with desk.store.reading() as tx:
        assert deployments.is_known(tx, "a" * 32)
        assert not deployments.list_noted(tx)
    assert "(asked about again)" not in desk.run("approvals", "deployments").stdout
