"""The tables of the clients' tools: their examples, and the laws that every table must keep."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from lockgate.analysis import analyse
from lockgate.analysis.tools import list_known_tools
from lockgate.clients.adapter import CLIENTS
from lockgate.clients.common import tool_names as vocabulary
from lockgate.clients.common.data import build
from lockgate.core.errors import BadInputError
from lockgate.core.model import ToolCall
from lockgate.resources.host_view import HostView

WORK = "/home/user/work"
AROUND = HostView(home="/home/user", workspace=WORK)
TABLES = {table.stem: build.load(table) for table in build.tables()}
ROWS = [(client, row) for client, table in TABLES.items() for row in table["tools"]]
EXAMPLES = [
    pytest.param(client, row, example, id=f"{client}-{row['tools'][0]}-{number}")
    for client, row in ROWS
    for number, example in enumerate(row["examples"])
]


@pytest.mark.parametrize(("client", "row", "example"), EXAMPLES)
def test_example(client: str, row: dict[str, Any], example: dict[str, Any]) -> None:
    for tool in row["tools"]:
        call = vocabulary.translate(client, ToolCall(tool, example["input"], WORK, "c1"))
        assert (call.tool, call.tool_input) == (row["is"], example["is"])
        assert call.cwd == example.get("cwd", WORK)
        assert call.call_id == "c1"
    if "effects" in example:
        found = sorted({effect.kind.value for effect in analyse(call, AROUND).effects})
        assert found == sorted(example["effects"])


@pytest.mark.parametrize(("client", "row"), ROWS)
def test_each_row_means_a_tool_that_the_analysis_knows(client: str, row: dict[str, Any]) -> None:
    assert row["is"] in list_known_tools()


@pytest.mark.parametrize(("client", "row"), ROWS)
def test_a_shell_command_keeps_its_name(client: str, row: dict[str, Any]) -> None:
    """A contained command goes back to the client under the name that we know it by."""
    if row["is"] == "Bash":
        assert not row.get("input")


@pytest.mark.parametrize("table", build.tables(), ids=lambda table: table.stem)
def test_tables_are_compiled(table: Any) -> None:
    assert table.with_suffix(".json").read_text(encoding="utf-8") == build.compile_table(table)
    assert table.stem in CLIENTS


@pytest.mark.parametrize("client", sorted(TABLES))
@pytest.mark.parametrize("tool", ["Read", "Bash ", "read", "TodoWrite", "Agent", "no_such_tool"])
def test_an_unknown_tool_is_nobody_elses(client: str, tool: str) -> None:
    call = vocabulary.translate(client, ToolCall(tool, {"file_path": "a"}, WORK))
    if tool in vocabulary.table(client)["tools"]:
        return
    assert call.tool == f"{client}:{tool}"
    assert {effect.kind.value for effect in analyse(call, AROUND).effects} == {"execute", "ingest"}


@pytest.mark.parametrize(
    ("client", "tool", "given"),
    [
        ("codex", "collaborationspawn_agent", {"message": "a", "prompt": "b"}),
        ("gemini-cli", "read_file", {"file_path": "a.py", "absolute_path": "/home/user/.ssh/id_rsa"}),
    ],
)
def test_a_parameter_that_is_given_twice_is_refused(client: str, tool: str, given: dict[str, str]) -> None:
    with pytest.raises(BadInputError, match="twice"):
        vocabulary.translate(client, ToolCall(tool, given, WORK))


def test_a_tool_stands_in_one_row() -> None:
    for table in build.tables():
        names = [tool for row in yaml.safe_load(table.read_text(encoding="utf-8"))["tools"] for tool in row["tools"]]
        assert len(names) == len(set(names))


def test_what_is_kept_is_json() -> None:
    for client in TABLES:
        assert json.dumps(vocabulary.table(client))
