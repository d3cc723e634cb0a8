"""``lockgate explain``: what a call can do, by which rule, and what the gate answers in each state of a session."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any

import click

from lockgate.cli.common.state import unreadable
from lockgate.cli.explain.explanation import Explanation, explain_call
from lockgate.cli.explain.json_output import short, whole
from lockgate.cli.explain.pattern_findings import Check, open_check
from lockgate.core.display_text import visible
from lockgate.core.errors import BadInputError, LockgateError, StoreError
from lockgate.core.model import LabelState, ToolCall

LONGEST_LINE = 1_000_000
"""Bytes of one line of ``--jsonl``."""


class _Explain(click.Command):
    """Takes an option that stands after a first word for the command's own: it was meant to be one argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.possibilities or words[0].startswith("-"):
                raise
            raise _make_quoting_hint(words) from error


@click.command(cls=_Explain)
@click.argument("words", metavar="[COMMAND]", nargs=-1)
@click.option("--tool", default="Bash", show_default=True, help="The tool's name, as the agent's client spells it.")
@click.option("--input", "tool_input", help="The tool's input, a JSON object.")
@click.option("--cwd", help="The folder that the call is made in.  [default: this one]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--jsonl", is_flag=True, help="Read one call a line from standard input, print one JSON object a line.")
@click.option("--report", is_flag=True, help="Print the text of an issue about a wrong verdict, without secrets.")
@click.option(
    "--labels",
    "state",
    type=click.Choice([state.value for state in LabelState]),
    help="Show how each step decides in a session in this state.",
)
@click.option("--expected", type=click.Choice(["allow", "contain", "ask", "deny"]), help="For --report: what was due.")
def explain(
    words: tuple[str, ...],
    tool: str,
    tool_input: str | None,
    cwd: str | None,
    as_json: bool,
    jsonl: bool,
    report: bool,
    state: str | None,
    expected: str | None,
) -> None:
    """Show what a call can do, and what the gate would answer.

    COMMAND is a shell command in one argument; - reads it from standard input. It is not run.

    A line of --jsonl is {"tool_name": "Bash", "tool_input": {"command": "ls"}}, with "cwd" if you like. A line that is
    no call is answered with {"error": ...}.

    Exit status: 0 explained, 1 it cannot be, 2 usage, 3 state not readable.

    \b
    lockgate explain "git push origin main"
    lockgate explain --tool WebFetch --input '{"url": "https://example.com/"}'
    lockgate explain --report --expected allow "make docs"
    """  # noqa: D301 - the escape keeps click from folding the lines
    here = os.path.abspath(cwd) if cwd else os.getcwd()
    if len(words) > 1:
        raise _make_quoting_hint(words)
    if as_json + jsonl + report > 1:
        raise click.UsageError("give one of --json, --jsonl and --report")
    if state is not None and (as_json or jsonl or report):
        raise click.UsageError("--labels is for the tree; --json has all states")
    if expected is not None and not report:
        raise click.UsageError("--expected goes with --report")
    command = words[0] if words else None
    try:
        if jsonl:
            if command is not None or tool_input is not None:
                raise click.UsageError("--jsonl reads its calls from standard input; leave COMMAND and --input out")
            _answer_lines(sys.stdin.buffer, sys.stdout, here)
            return
        explanation = explain_call(_call(command, tool, tool_input, here))
        _show(explanation, as_json=as_json, report=report, expected=expected, state=state)
    except StoreError as error:
        raise unreadable(error) from error
    except LockgateError as error:
        raise click.ClickException(visible(str(error), 600)) from error


def _make_quoting_hint(words: Sequence[str]) -> click.UsageError:
    quoted = visible(shlex.quote(" ".join(words)), 300)
    return click.UsageError(f"COMMAND is one argument; put it in quotes: lockgate explain {quoted}")


def _show(explanation: Explanation, *, as_json: bool, report: bool, expected: str | None, state: str | None) -> None:
    if as_json:
        click.echo(json.dumps(whole(explanation), indent=2))
    elif report:
        from lockgate.cli.explain.issue import text

        click.echo(text(explanation, expected))
    else:
        from lockgate.cli.explain.text import show

        show(explanation, LabelState(state) if state else None)


# -- one call
# -----------------------------------------------------------------------------------------------------------


def _call(command: str | None, tool: str, tool_input: str | None, cwd: str) -> ToolCall:
    if (command is None) == (tool_input is None):
        raise click.UsageError("give a COMMAND, or --tool with --input")
    if tool_input is None:
        text = sys.stdin.read().removesuffix("\n") if command == "-" else command
        return ToolCall(tool, {"command": text}, cwd)
    given = _json(tool_input, "--input")
    if not isinstance(given, dict):
        raise BadInputError("--input is not a JSON object")
    return ToolCall(tool, given, cwd)


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise BadInputError(f"{what} is not JSON: {problem}") from error


def _decode_call(text: str, cwd: str) -> ToolCall:
    """The call that a JSON object describes. Raises ``BadInputError``."""
    value = _json(text, "the line")
    if not isinstance(value, dict):
        raise BadInputError('the line is not a JSON object; write {"tool_name": ..., "tool_input": {...}}')
    tool, tool_input, folder = value.get("tool_name"), value.get("tool_input"), value.get("cwd", cwd)
    if not isinstance(tool, str):
        raise BadInputError("tool_name is missing or not a text")
    if not isinstance(tool_input, dict):
        raise BadInputError("tool_input is missing or not an object")
    if not isinstance(folder, str):
        raise BadInputError("cwd is not a text")
    return ToolCall(tool, tool_input, folder)


# -- a call a line
# ------------------------------------------------------------------------------------------------------


def _lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a stream; ``None`` for one that is too long, which is never held in memory."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass
        yield None


def _answer(line: bytes | None, cwd: str, check: Check) -> dict[str, Any]:
    try:
        if line is None:
            raise BadInputError(f"the line is longer than {LONGEST_LINE} bytes")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInputError(f"the line is not UTF-8 at byte {error.start}") from error
        if not text.strip():
            raise BadInputError("the line is empty")
        return short(explain_call(_decode_call(text.strip(), cwd), check))
    except LockgateError as error:
        return {"error": visible(str(error), 600)}


def _answer_lines(source: IO[bytes], target: IO[str], cwd: str) -> None:
    try:
        with open_check() as check:
            for line in _lines(source):
                target.write(json.dumps(_answer(line, cwd, check)) + "\n")
                target.flush()
    except BrokenPipeError:
        # Nobody reads any more. What Python would still flush at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
