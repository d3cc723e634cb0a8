"""``lockgate explain``: what a call can do, by which rule, and what the gate answers in each state of a session."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from lockgate.analysis import analyse
from lockgate.cli.state import unreadable
from lockgate.configuration import find_workspace, load_for_cli
from lockgate.deciding import merged
from lockgate.errors import BadInputError, LockgateError, StoreError
from lockgate.folders import folders
from lockgate.model import Analysis, Effect, Label, LabelState, ToolCall, Variant, Verdict
from lockgate.policy.decide import decide
from lockgate.policy.rules import Policy
from lockgate.runtime import surroundings_of
from lockgate.text import visible

if TYPE_CHECKING:
    from rich.tree import Tree

LONGEST_LINE = 1_000_000
"""Bytes of one line of ``--jsonl``."""

_WIDEST = 10_000

_STATES: Mapping[LabelState, frozenset[Label]] = {
    LabelState.CLEAN: frozenset(),
    LabelState.UNTRUSTED: frozenset({Label.UNTRUSTED}),
    LabelState.SECRET: frozenset({Label.SECRET}),
    LabelState.BOTH: frozenset({Label.UNTRUSTED, Label.SECRET}),
}
_COLOURS = {
    Verdict.ALLOW: "green",
    Verdict.CONTAIN: "cyan",
    Verdict.JUDGE: "cyan",
    Verdict.ASK: "yellow",
    Verdict.DENY: "red",
}


class Explanation(NamedTuple):
    """One call, analysed and decided under every policy that holds."""

    call: ToolCall
    analysis: Analysis
    verdicts: Mapping[LabelState, Verdict]
    policies: tuple[Policy, ...]

    def of(self, effect: Effect) -> Mapping[LabelState, Verdict]:
        """What one effect alone would get."""
        return _verdicts([(policy, (effect,)) for policy in self.policies])


@click.command()
@click.argument("words", metavar="[COMMAND]", nargs=-1)
@click.option("--tool", default="Bash", show_default=True, help="The tool's name, as the agent's client spells it.")
@click.option("--input", "tool_input", help="The tool's input, a JSON object.")
@click.option("--cwd", help="The folder that the call is made in.  [default: this one]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--jsonl", is_flag=True, help="Read one call a line from standard input, print one JSON object a line.")
def explain(
    words: tuple[str, ...], tool: str, tool_input: str | None, cwd: str | None, as_json: bool, jsonl: bool
) -> None:
    """Show what a call can do, and what the gate would answer.

    COMMAND is a shell command in one argument; - reads it from standard input. Nothing is run.

    A line of --jsonl is {"tool_name": "Bash", "tool_input": {"command": "ls"}}, with "cwd" if you like. A line that is
    no call is answered with {"error": ...}.

    Exit status: 0 explained, 1 it cannot be, 2 usage, 3 state not readable.

    \b
    lockgate explain "git push origin main"
    lockgate explain --tool WebFetch --input '{"url": "https://example.com/"}'
    """  # noqa: D301 - the escape keeps click from folding the lines
    here = os.path.abspath(cwd) if cwd else os.getcwd()
    if len(words) > 1:
        raise click.UsageError(f"COMMAND is one argument; put it in quotes: lockgate explain {_quoted(words)}")
    command = words[0] if words else None
    try:
        if jsonl:
            if command is not None or tool_input is not None:
                raise click.UsageError("--jsonl reads its calls from standard input; leave COMMAND and --input out")
            _answer_lines(sys.stdin.buffer, sys.stdout, here)
            return
        explanation = _explained(_call(command, tool, tool_input, here))
    except StoreError as error:
        raise unreadable(error) from error
    except LockgateError as error:
        raise click.ClickException(visible(str(error), 600)) from error
    if as_json:
        click.echo(json.dumps(_as_json(explanation), indent=2))
    else:
        _print(explanation)


def _quoted(words: Sequence[str]) -> str:
    return visible(shlex.quote(" ".join(words)), 300)


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


def _decoded(text: str, cwd: str) -> ToolCall:
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


@lru_cache(maxsize=64)
def _policies(folder: str) -> tuple[tuple[Policy, Any], ...]:
    """What holds in a folder: each policy with the surroundings that its rules are part of."""
    where = folders()
    # A folder that is not there has no configuration of its own (the calling folder's holds), and is a project.
    there = os.path.isdir(folder)
    cwd = folder if there else os.getcwd()
    configuration = load_for_cli(cwd)
    for problem in configuration.problems:
        click.echo(f"lockgate: {visible(str(problem), 600)}", err=True)
    workspace = find_workspace(cwd, where.home) if there else folder
    return tuple((policy, surroundings_of(where, workspace, "", policy.rules)) for policy in configuration.policies)


def _explained(call: ToolCall) -> Explanation:
    held = _policies(call.cwd)
    found = [(policy, analyse(call, around)) for policy, around in held]
    verdicts = _verdicts([(policy, analysis.effects) for policy, analysis in found])
    return Explanation(call, merged([analysis for _, analysis in found]), verdicts, tuple(policy for policy, _ in held))


def _verdicts(found: Sequence[tuple[Policy, tuple[Effect, ...]]]) -> dict[LabelState, Verdict]:
    """For each state the strictest verdict of all policies."""
    return {
        state: max(decide(effects, labels, policy.profile).verdict for policy, effects in found)
        for state, labels in _STATES.items()
    }


# -- JSON
# ---------------------------------------------------------------------------------------------------------------


def _words(verdicts: Mapping[LabelState, Verdict]) -> dict[str, str]:
    return {state.value: verdict.word for state, verdict in verdicts.items()}


def _short(explanation: Explanation) -> dict[str, Any]:
    analysis = explanation.analysis
    return {
        "effects": list(dict.fromkeys(effect.kind.value for effect in analysis.effects)),
        "programs": list(analysis.programs),
        "category": analysis.category.value,
        "verdicts": _words(explanation.verdicts),
        "reasons": [f"{effect.rule}: {visible(effect.because)}" for effect in analysis.effects],
    }


def _as_json(explanation: Explanation) -> dict[str, Any]:
    call, analysis = explanation.call, explanation.analysis
    return {
        "tool_name": call.tool,
        "tool_input": dict(call.tool_input),
        "cwd": call.cwd,
        "profiles": [policy.profile.name for policy in explanation.policies],
        "programs": list(analysis.programs),
        "category": analysis.category.value,
        "gives": sorted(label.value for label in analysis.gives),
        "verdicts": _words(explanation.verdicts),
        "effects": [
            {
                "kind": effect.kind.value,
                "row": effect.row,
                "what": effect.what,
                "rule": effect.rule,
                "because": effect.because,
                "address": effect.address,
                "gives": effect.gives.value if effect.gives else None,
                "verdicts": _words(explanation.of(effect)),
            }
            for effect in analysis.effects
        ],
        "hints": list(analysis.hints),
    }


def _lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """The lines of a stream; ``None`` for one that is too long, which is never held in memory."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
            pass
        yield None


def _answer(line: bytes | None, cwd: str) -> dict[str, Any]:
    try:
        if line is None:
            raise BadInputError(f"the line is longer than {LONGEST_LINE} bytes")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInputError(f"the line is not UTF-8 at byte {error.start}") from error
        if not text.strip():
            raise BadInputError("the line is empty")
        return _short(_explained(_decoded(text.strip(), cwd)))
    except LockgateError as error:
        return {"error": visible(str(error), 600)}


def _answer_lines(source: IO[bytes], target: IO[str], cwd: str) -> None:
    try:
        for line in _lines(source):
            target.write(json.dumps(_answer(line, cwd)) + "\n")
            target.flush()
    except BrokenPipeError:
        # Nobody reads any more. What Python would still flush at its end goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- for a person
# -------------------------------------------------------------------------------------------------------


def _print(explanation: Explanation) -> None:
    from rich.console import Console

    # rich looks for a terminal and for NO_COLOR itself. Elsewhere no line is folded, so that it can be searched.
    width = None if sys.stdout.isatty() else _WIDEST
    Console(width=width, highlight=False, emoji=False, markup=False).print(_tree(explanation))


def _tree(explanation: Explanation) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    call, analysis = explanation.call, explanation.analysis
    command = call.tool_input.get("command")
    title = command if isinstance(command, str) else json.dumps(dict(call.tool_input), ensure_ascii=False)
    tree = Tree(Text.assemble((call.tool, "bold"), " ", visible(title, 300)))
    if analysis.programs:
        names = ", ".join("(dynamic)" if name is None else visible(name, 60) for name in analysis.programs)
        tree.add(Text(f"programs: {names}"))
    for effect in analysis.effects:
        branch = tree.add(Text.assemble((_kind(effect), "bold"), f" {visible(effect.what, 200)}"))
        branch.add(Text(f"because {visible(effect.because)}"))
        branch.add(Text(f"rule {effect.rule}", style="dim"))
        if effect.gives is not None:
            branch.add(Text(f"its result makes the session {effect.gives.value}"))
        if len(analysis.effects) > 1:
            branch.add(_coloured("alone", explanation.of(effect)))
    if not analysis.effects:
        tree.add(Text("no effect: it stays on this machine and in this project"))
    for hint in analysis.hints:
        tree.add(Text(f"hint: {visible(hint)}"))
    tree.add(Text(f"category {analysis.category.value} (Lockbox)"))
    profiles = ", ".join(dict.fromkeys(policy.profile.name for policy in explanation.policies))
    tree.add(_coloured(f"verdict under {profiles}", explanation.verdicts))
    return tree


def _kind(effect: Effect) -> str:
    return (
        f"{effect.kind.value} in a script, decided as {effect.row}:" if effect.variant is Variant.SCRIPT else effect.row
    )


def _coloured(title: str, verdicts: Mapping[LabelState, Verdict]) -> Any:
    from rich.text import Text

    text = Text(f"{title}:")
    for number, (state, verdict) in enumerate(verdicts.items()):
        text.append(f"{',' if number else ''} {state.value} ")
        text.append(verdict.word, style=_COLOURS[verdict])
    return text
