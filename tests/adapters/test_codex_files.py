"""What only Codex's transcript says: where a command runs, what was searched, where a session came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lockgate.analysis import analyse
from lockgate.clients.codex import transcript as codex_files
from lockgate.clients.codex.working_folder import find_shell_calls, find_working_folder
from lockgate.containment.rewriting import RunLaunch, contain_command
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.resources.host_view import HostView

WORK = "/home/user/work"


def _transcript(folder: Path, *bodies: dict[str, Any], kind: str = "response_item") -> str:
    file = folder / "rollout.jsonl"
    file.write_text("".join(f"{json.dumps({'type': kind, 'payload': body})}\n" for body in bodies))
    return str(file)


def _call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "name": "exec_command", "call_id": call_id, "arguments": json.dumps(arguments)}


def _cell(source: str) -> dict[str, Any]:
    return {"type": "custom_tool_call", "name": "exec", "call_id": "c9", "input": source}


@pytest.mark.parametrize(("cell", "command", "folder"), [
    ('await tools.exec_command({"cmd": "ls", "workdir": "/tmp"})', "ls", "/tmp"),
    ("await tools.exec_command({cmd: 'ls', workdir: 'src'})", "ls", f"{WORK}/src"),
    ("await tools.exec_command({cmd: `ls`})", "ls", WORK),
    ('tools.exec_command({cmd: "a"}); tools.exec_command({cmd: "b", workdir: "/tmp"})', "b", "/tmp"),
    ('tools.exec_command({cmd: "a", workdir: "/x"}); tools.exec_command({cmd: "a", workdir: "/y"})', "a", ""),
    ('tools.exec_command({cmd: "ls", workdir: where})', "ls", ""),
    ('tools.exec_command({cmd, workdir: "/tmp"})', "ls", "/tmp"),
    ('tools.exec_command({cmd: "ls", timeout: f({a: [1, "}"]}), workdir: "/tmp"})', "ls", "/tmp"),
    ('tools.exec_command({...options})', "ls", ""),
    ('tools.exec_command({["work" + "dir"]: "/tmp", cmd: "ls"})', "ls", ""),
    ('tools["exec_" + "command"]({cmd: "ls", workdir: "/tmp"})', "ls", ""),
    ('const t = tools; t.exec_command({cmd: "ls"})', "ls", ""),
    ('const run = tools.exec_command; run({cmd: "ls", workdir: "/tmp"})', "ls", ""),
    ('/"/; tools["exec" + "_command"]({cmd: "ls", workdir: "/x"}); /"/; tools.exec_command({cmd: "ls"})', "ls", ""),
    ('eval("x"); tools.exec_command({cmd: "ls"})', "ls", ""),
    ('tools.exec_command({cmd: "python3 -c \'import this\'", workdir: "/tmp"})', "python3 -c 'import this'", "/tmp"),
    ('tools.exec_command({cmd: "other"})', "ls", ""),
    ('text("hello")', "ls", ""),
])  # fmt: skip
def test_a_cell_says_where_a_command_runs(tmp_path: Path, cell: str, command: str, folder: str) -> None:
    transcript = _transcript(tmp_path, _cell(cell))
    assert find_working_folder(transcript, "exec-1", command, WORK) == folder


@pytest.mark.parametrize(
    "cell", ["tools.exec_command({cmd: 'x", "tools.exec_command({", "tools.exec_command({a: (", "tools"]
)
def test_a_cell_that_breaks_off_says_nothing(cell: str) -> None:
    assert all(start.folder is None for start in find_shell_calls(cell))


@pytest.mark.parametrize(("arguments", "folder"), [
    ({"cmd": "ls", "workdir": "/tmp"}, "/tmp"), ({"cmd": "ls", "workdir": ".."}, "/home/user"), ({"cmd": "ls"}, WORK),
    ({"cmd": "ls", "workdir": 7}, ""),
])  # fmt: skip
def test_a_plain_call_says_where_it_runs(tmp_path: Path, arguments: dict[str, Any], folder: str) -> None:
    transcript = _transcript(tmp_path, _call("c1", **arguments), _call("c2", cmd="ls", workdir="/elsewhere"))
    assert find_working_folder(transcript, "c1", "ls", WORK) == folder


def test_without_a_transcript_nobody_knows(tmp_path: Path) -> None:
    assert find_working_folder(str(tmp_path / "gone"), "c1", "ls", WORK) == ""


def test_searches_are_told_late(tmp_path: Path) -> None:
    call = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "asyncio"}}
    talk = {"type": "message", "content": [{"text": '"web_search_call"'}]}
    context = Context("codex", Subject("s"), WORK, transcript=_transcript(tmp_path, talk, call, call))
    (found,) = codex_files.searches(context)
    assert (found.call.tool, found.call.call_id, found.call.tool_input) == ("WebSearch", "ws_1", {"query": "asyncio"})


@pytest.mark.parametrize(("body", "kind", "read"), [
    ({"type": "function_call_output", "output": "x"}, "response_item", True),
    ({"type": "custom_tool_call_output", "output": "x"}, "response_item", True),
    ({"message": "summary"}, "compacted", True),
    ({"type": "message", "content": "function_call_output"}, "response_item", False),
])  # fmt: skip
def test_a_transcript_shows_whether_something_was_read(
    tmp_path: Path, body: dict[str, Any], kind: str, read: bool
) -> None:
    assert codex_files.has_history(_transcript(tmp_path, body, kind=kind)) is read


OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "hi"}
RUN = _call("c1", cmd="ls")


@pytest.mark.parametrize(("bodies", "at", "found"), [
    pytest.param([RUN, OUTPUT], 30, ("c1",), id="a command"),
    pytest.param([{**RUN, "name": "mcp__t__get"}, OUTPUT], 30, ("c1",), id="an MCP tool"),
    pytest.param([{**RUN, "name": "shell", "arguments": '{"command": ["ls"]}'}, OUTPUT], 30, ("c1",), id="older tool"),
    pytest.param([RUN, OUTPUT], 10, (), id="older"),
    pytest.param([RUN], 30, (), id="still running"),
    pytest.param([OUTPUT], 30, (), id="no call"),
    pytest.param([{**RUN, "name": "update_plan"}, OUTPUT], 30, (), id="no hook is run for it"),
    pytest.param([{**RUN, "arguments": "{"}, OUTPUT], 30, (), id="no call that Codex could read"),
    pytest.param([_call("c1", workdir="/"), OUTPUT], 30, (), id="no command"),
    pytest.param([_cell("x"), {**OUTPUT, "type": "custom_tool_call_output", "call_id": "c9"}], 30, (), id="a cell"),
    pytest.param([RUN, {"type": "message", "content": json.dumps(OUTPUT)}], 30, (), id="inside a message"),
])  # fmt: skip
def test_results_that_are_newer_than_a_time(
    tmp_path: Path, bodies: list[dict[str, Any]], at: int, found: tuple[str, ...]
) -> None:
    lines = [{"timestamp": f"1970-01-01T00:00:{at}.500Z", "type": "response_item", "payload": body} for body in bodies]
    file = tmp_path / "rollout.jsonl"
    file.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines) + '"function_call\n{')
    assert codex_files.results_since(str(file), 20.0) == found


def test_a_fork_names_its_parent(tmp_path: Path) -> None:
    transcript = _transcript(tmp_path, {"id": "own", "forked_from_id": "parent"}, kind="session_meta")
    assert codex_files.parent_sessions(transcript, "own") == ("parent",)


@pytest.mark.parametrize(("command", "program"), [
    ("bash", "bash"), ("bash -lc python3", "python3"), ("ls; python3", "python3"), ("node", "node"), ("psql", "psql"),
    ("docker exec -it c sh", "sh"), ("ssh host", "ssh"), ("ssh -p 2222 host", "ssh"),
    ("gdb ./a", "gdb"), ("cd a && vim x", "vim"), ("tmux", "tmux"),
    ("python3 a.py", ""), ("bash -c ls", ""), ("python3 - <<E\nprint(1)\nE\n", ""), ("echo 1 | python3", ""),
    ("python3 < a.py", ""), ("psql -c 'select 1'", ""), ("ssh host uptime", ""), ("ssh -p 2222 host uptime", ""),
    ("gdb -batch -ex bt ./core", ""), ("emacs --batch -l x.el", ""), ("ssh host <<E\nls\nE\n", ""),
    ("cat x | ssh host", ""), ("ls", ""), ("git log | less", ""), ("R -f x.R", ""), ("echo 'x", ""),
    ("(ssh host)", "ssh"), ("{ ssh host; }", "ssh"), ("if true; then ssh host; fi", "ssh"), ("env A=1 ssh host", "ssh"),
    ("for i in 1 2; do ssh host; done", "ssh"), ("f() { ssh host; }; f", "ssh"), ("timeout 9 ssh host", "ssh"),
    ("ssh host < /dev/tty", "ssh"), ("bash < /dev/tty", "bash"), ("/usr/bin/ssh host", "ssh"),
    ("sh -c 'ssh host'", "ssh"), ("exec ssh host", "ssh"), ("ssh host < /dev/null", ""),
    ("{ ssh host; } < a.txt", ""), ("ssh host <<< ls", ""),
    ("if ssh host uptime; then ls; fi", ""),
])  # fmt: skip
def test_which_programs_stay_open(command: str, program: str) -> None:
    call = ToolCall("Bash", {"command": command}, WORK)
    analysis = analyse(call, HostView(home="/home/user", workspace=WORK))
    assert next(iter(analysis.listens), "") == program


def test_a_contained_command_ran_where_its_cell_says(tmp_path: Path) -> None:
    """What has run is told as it was changed, and stands in no cell so."""
    launch = RunLaunch("/opt/python", "/opt/contain.py", "/home/user", "/s", "/c", WORK)
    for command in ("ruff check 'a b'", "cd src && make"):
        transcript = _transcript(tmp_path, _cell(f'tools.exec_command({{cmd: {json.dumps(command)}, workdir: "web"}})'))
        changed = contain_command(command, launch)
        assert find_working_folder(transcript, "exec-1", changed, WORK, ran=True) == f"{WORK}/web"
        assert find_working_folder(transcript, "exec-1", changed, WORK) == "", "the agent itself may write such a text"
        assert find_working_folder(transcript, "exec-1", contain_command(f"{command} ", launch), WORK, ran=True) == ""
