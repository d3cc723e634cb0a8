"""Code that nobody can see through runs in a session that has read a stranger's text, and can talk to nobody."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.conftest import Serve
from e2e.harness.clients import versions
from e2e.harness.script import Call, Script, bash, fetch_issue
from e2e.harness.world import World

PROJECT = {
    "test_sum.py": "def test_good():\n    assert 1 + 1 == 2\n\ndef test_bad():\n    assert 1 + 1 == 3\n",
    "report.sh": "echo working > made.txt; cat .env; exit 7\n",
    "send.py": "exec(open('send.txt').read())\n",
    "send.txt": "import socket, sys\nsocket.create_connection(('127.0.0.1', int(sys.argv[1]))).sendall(b'the code')\n",
}


class Listener:
    """Somebody on this machine's loopback who writes down what is said to him."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.heard: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.heard.append(connection.recv(100))

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


def _fill(world: World) -> None:
    for name, text in PROJECT.items():
        (world.project / name).write_text(text)
    (world.project / ".env").write_text("KEY=geheim\n")


def test_tests_run_without_a_question_and_their_output_arrives(world: World, serve: Serve) -> None:
    _fill(world)
    tests, report = bash("python -m pytest -q -p no:cacheprovider"), bash("./report.sh || sh report.sh")
    model = serve(Script.of(fetch_issue(), tests, report))
    world.run(model)
    tested, reported = model.result(1), model.result(2)
    assert "1 failed, 1 passed" in tested.text, tested
    assert "Exit code 1" in tested.text
    assert "Exit code 7" in reported.text, reported
    assert "geheim" not in reported.text
    assert (world.project / "made.txt").read_text() == "working\n"


def test_a_script_reaches_nobody(world: World, serve: Serve, listener: Listener) -> None:
    _fill(world)
    model = serve(Script.of(fetch_issue(), bash(f"python send.py {listener.port}")))
    world.run(model)
    assert "ConnectionRefusedError" in model.result(1).text, model.result(1)
    assert listener.heard == []


def test_without_lockgate_the_script_reaches_somebody(bare_world: World, serve: Serve, listener: Listener) -> None:
    """The control."""
    _fill(bare_world)
    model = serve(Script.of(fetch_issue(), bash(f"python send.py {listener.port}")))
    bare_world.run(model)
    assert not model.result(1).is_error, model.result(1)
    assert listener.heard == [b"the code"]


def test_the_client_knows_the_folder_that_a_contained_command_ended_in(world: World, serve: Serve) -> None:
    (world.project / "sub").mkdir()
    _fill(world)
    model = serve(Script.of(fetch_issue(), bash("cd sub && python -c 'import os; print(os.getcwd())'"), bash("pwd")))
    world.run(model)
    assert model.result(1).text.strip() == str(world.project / "sub")
    assert model.result(2).text.strip() == str(world.project / "sub")


def test_what_a_contained_call_brought_is_confirmed(world: World, serve: Serve) -> None:
    _fill(world)
    model = serve(Script.of(fetch_issue(), bash("sh report.sh")))
    world.run(model)
    assert "pending" not in world.lockgate("status", "--json").replace('"pending": []', "")


def test_in_the_background(world: World, serve: Serve) -> None:
    _fill(world)
    (world.project / "slow.sh").write_text("echo begun > begun.txt; sleep 1; echo ended > ended.txt\n")
    run = Call("Bash", {"command": "sh slow.sh", "description": "step", "run_in_background": True})
    model = serve(Script.of(fetch_issue(), run, bash("while ! test -e ended.txt; do sleep 0.1; done; cat ended.txt")))
    world.run(model)
    assert not model.result(1).is_error
    assert model.result(2).text.strip() == "ended"


@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_a_rule_of_the_persons_own_is_not_lost(world: World, serve: Serve, kind: str) -> None:
    """The client holds its rules against what a command was rewritten to."""
    _fill(world)
    settings = json.loads(world.settings.read_text())
    world.settings.write_text(json.dumps({**settings, "permissions": {kind: ["Bash(sh report.sh:*)"]}}))
    model = serve(Script.of(fetch_issue(), bash("sh report.sh")))
    world.run(model)
    assert not (world.project / "made.txt").exists(), model.result(1)


def test_a_rule_on_the_command_line_is_not_lost(world: World, serve: Serve) -> None:
    _fill(world)
    model = serve(Script.of(fetch_issue(), bash("sh report.sh")))
    world.run(model, "please go on", "--disallowedTools", "Bash(sh report.sh:*)")
    assert not (world.project / "made.txt").exists(), model.result(1)


def test_what_a_rule_lets_run_unasked_stays_so(world: World, serve: Serve) -> None:
    """In a mode that asks, without a terminal: only what a rule allows runs."""
    _fill(world)
    settings = json.loads(world.settings.read_text())
    allow = {"allow": ["Bash(sh report.sh:*)", "mcp__tracker__fetch_issue"]}
    world.settings.write_text(json.dumps({**settings, "permissions": allow}))
    model = serve(Script.of(fetch_issue(), bash("sh report.sh"), bash("python send.py 1")))
    world.run(model, bypass=False)
    assert "Exit code 7" in model.result(1).text
    assert "approval" in model.result(2).text, model.result(2)


def test_a_command_that_takes_too_long_leaves_nothing_behind(world: World, serve: Serve) -> None:
    """Version 2.1.197 kills it; 2.1.329 lets it go on in the background, and waits for it before it ends."""
    _fill(world)
    loop = "for i in $(seq 60); do date > alive.txt; sleep 0.1; done"
    (world.project / "slow.sh").write_text(f"({loop}) & {loop}\n")
    slow = Call("Bash", {"command": "sh slow.sh", "description": "step", "timeout": 2000})
    model = serve(Script.of(fetch_issue(), slow))
    world.run(model)
    assert (world.project / "alive.txt").exists()
    before = (world.project / "alive.txt").stat().st_mtime_ns
    time.sleep(0.5)
    assert (world.project / "alive.txt").stat().st_mtime_ns == before


def test_a_persons_own_functions_and_aliases_are_there(world: World, serve: Serve) -> None:
    (world.home / ".bashrc").write_text("greet() { echo \"hello $1\"; }\nalias twice='greet twice;greet'\n")
    model = serve(Script.of(fetch_issue(), bash("greet you | tr a-z A-Z"), bash("cd .git && twice you")))
    world.run(model)
    assert model.result(1).text.strip() == "HELLO YOU"
    assert model.result(2).text.strip() == "hello twice\nhello you"
    decided = world.lockgate("audit", "show", "--json")
    assert decided.count('"contain"') >= 2


def test_auto_mode_has_a_changed_call_made_again(tmp_path: Path, serve: Serve) -> None:
    """Its review on the server was of another input: the client refuses, and quotes what the agent is to call."""
    world = World(tmp_path.resolve(), versions()[-1])
    world.lockgate("install", "claude-code")
    _fill(world)
    quoted = bash(r'{{command\\":\\"(/[^"]*?)\\",}}')
    model = serve(Script.of(fetch_issue(), bash("sh report.sh"), quoted, bash("ls")))
    with world.open(model, "auto") as terminal:
        terminal.say("look at the issue, then make the report")
        terminal.wait_for("ALL DONE")
    assert "a hook changed this call's input" in model.result(1).text
    assert "Exit code 7" in model.result(2).text
    assert (world.project / "made.txt").read_text() == "working\n"
    assert "geheim" not in json.dumps(model.requests)
    bodies = [json.loads(line)["body"] for line in world.lockgate("audit", "show", "--json").splitlines()]
    decided = [
        (body["verdict"], body["input"]["command"])
        for body in bodies
        if body.get("tool") == "Bash" and "verdict" in body
    ]
    assert decided[:2] == [("contain", "sh report.sh")] * 2


def test_auto_mode_refuses_nothing_that_a_rule_of_the_persons_own_lets_run(tmp_path: Path, serve: Serve) -> None:
    world = World(tmp_path.resolve(), versions()[-1])
    world.lockgate("install", "claude-code")
    settings = json.loads(world.settings.read_text())
    world.settings.write_text(json.dumps({**settings, "permissions": {"allow": ["Bash(sh report.sh)"]}}))
    _fill(world)
    model = serve(Script.of(fetch_issue(), bash("sh report.sh")))
    with world.open(model, "auto") as terminal:
        terminal.say("look at the issue, then make the report")
        terminal.wait_for("ALL DONE")
    assert "Exit code 7" in model.result(1).text
    assert "geheim" not in json.dumps(model.requests)
    assert '"contain"' in world.lockgate("audit", "show", "--json")
