"""Claude Code's permission rules about a shell command that the gate is about to rewrite.

Claude Code (2.1.197, 2.1.329) holds its rules against the rewritten command. So a rule of the person's that refuses the
command, or asks about it, would be lost. One that lets it run would not be found. So where a refusing rule may be meant
the command is not rewritten; and what a rule lets run unasked stays so. Form of the rules:
https://code.claude.com/docs/en/permissions
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from lockgate.clients.common.rule_words import stays_inside
from lockgate.clients.common.transcripts import read_file
from lockgate.core.record import TYPE_CHECKING
from lockgate.system import caller
from lockgate.system.process_arguments import CommandLine, command_line

if TYPE_CHECKING:
    from typing import Any

    from lockgate.core.events import Context
    from lockgate.core.model import ToolCall

_MOST = 4 * 1024 * 1024
_TOOL = "Bash("
_REFUSING = ("deny", "ask")
_FLAGS = ("--disallowedTools", "--disallowed-tools")
_SETTINGS = "--settings"
_OTHER_DIALOG = "--permission-prompt-tool"
_ASKING_MODES = frozenset({"default", "acceptEdits"})
_PLAIN = re.compile(r"[A-Za-z0-9_./=:@%+, -]+", re.ASCII)
"""Commands that are one program with plain words: what a rule says about their beginning, it says about all of them."""


def may_be_refused(context: Context, call: ToolCall, home: str) -> bool:
    """Whether a rule that refuses or asks may be about a command. In doubt it is."""
    command = str(call.tool_input.get("command", ""))
    plain = re.sub(r"[\\'\"]", "", command)
    started = command_line(context.process)
    if not started.exact and (not started.words or started.has(_SETTINGS)):
        return True
    rules = [rule for settings in _settings(context, home, started) for rule in _rules(settings, *_REFUSING)]
    return any(
        _mentions(rule, command) or _mentions(rule, plain) for rule in [*rules, *_find_disallowed_rules(started)]
    )


def asks_by_default(context: Context, call: ToolCall, home: str) -> bool:
    """Whether the client asks about a command only because no rule lets it run. In doubt there is another reason.

    A hook's ``allow`` yields to rules that refuse, and drops those that ask. In other modes than these two the person
    wants to see each call, or none. A program that shows the questions itself goes on being asked.
    """
    started = command_line(context.process)
    if context.mode not in _ASKING_MODES or not started.words or started.has(_OTHER_DIALOG):
        return False
    from lockgate.resources.path_spelling import is_inside

    if not context.workspace or not is_inside(call.cwd or context.cwd, context.workspace):
        return False
    if may_be_refused(context, call, home):
        return False
    if any(_means_all(settings) for settings in _settings(context, home, started)):
        return False
    return stays_inside(str(call.tool_input.get("command", "")), context.workspace)


def _means_all(permissions: Mapping[str, Any]) -> bool:
    """Whether a rule without brackets may refuse the shell as a whole, or have the client ask about all of it."""
    rules = [rule for kind in _REFUSING for rule in _list_of(permissions, kind)]
    return any(not isinstance(rule, str) or rule == "Bash" or "*" in rule.partition("(")[0] for rule in rules)


def is_allowed(context: Context, call: ToolCall, home: str) -> bool:
    """Whether a rule lets exactly this command run unasked. In doubt it does not."""
    command = str(call.tool_input.get("command", ""))
    if not _PLAIN.fullmatch(command):
        return False
    started = command_line(context.process)
    rules = (rule for settings in _settings(context, home, started) for rule in _rules(settings, "allow"))
    return any(_begins(rule, command) for rule in rules)


def _mentions(rule: str, command: str) -> bool:
    literal = re.split(r":?\*", rule, maxsplit=1)[0].split()
    if not literal:
        # `Bash(*)` means every command, however it is spelt; `Bash(* --force)` any with that.
        return bool(rule.strip("*: "))
    return re.search(rf"(?<![\w-]){re.escape(literal[0])}(?![\w-])", command) is not None


def _begins(rule: str, command: str) -> bool:
    beginning = rule.removesuffix(":*") if rule.endswith(":*") else rule.removesuffix(" *")
    if "*" in beginning:
        return False
    return command == beginning or (beginning != rule and command.startswith(f"{beginning} "))


# ---------------------------------------------------------------- where rules stand
def _settings(context: Context, home: str, started: CommandLine) -> Iterator[Mapping[str, Any]]:
    # A project's settings can set the variable for hooks, and must not hide the person's rules so.
    clients = dict.fromkeys((os.path.join(home, ".claude"), caller.environ().get("CLAUDE_CONFIG_DIR") or home))
    project = os.path.join(context.workspace, ".claude")
    mac = "/Library/Application Support/ClaudeCode"
    files = [os.path.join(client, "settings.json") for client in clients]
    files += [os.path.join(project, name) for name in ("settings.json", "settings.local.json")]
    files += [os.path.join(folder, "managed-settings.json") for folder in ("/etc/claude-code", mac)]
    for value in _command_line_settings(started):
        if value.lstrip().startswith("{"):
            yield from _parse(os.fsencode(value))
        else:
            files.append(os.path.join(context.workspace, value))
    for file in files:
        yield from _parse(read_file(file, _MOST))


def _parse(data: bytes | None) -> Iterator[Mapping[str, Any]]:
    if not data:
        return  # most of the places where settings may stand have none
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict) and isinstance(found.get("permissions"), dict):
        yield found["permissions"]


def _rules(permissions: Mapping[str, Any], *kinds: str) -> Iterator[str]:
    """What stands in the brackets of each rule about the shell."""
    for kind in kinds:
        for rule in _list_of(permissions, kind):
            if isinstance(rule, str) and rule.startswith(_TOOL) and rule.endswith(")"):
                yield rule[len(_TOOL) : -1]


def _list_of(permissions: Mapping[str, Any], kind: str) -> list[Any]:
    rules = permissions.get(kind)
    return rules if isinstance(rules, list) else []


def _command_line_settings(started: CommandLine) -> Iterator[str]:
    """Files and texts of settings on the client's command line."""
    for word, following in pairwise((*started.words, "")):
        name, equals, value = word.partition("=")
        if name == _SETTINGS:
            yield value if equals else following


def _find_disallowed_rules(started: CommandLine) -> Iterator[str]:
    """Rules on the client's command line: after a flag, in one word or several, up to the next flag."""
    listening = False
    said = []
    for word in started.words:
        name, _, value = word.partition("=")
        if word.startswith("--"):
            listening = name in _FLAGS
            word = value
        if listening:
            said.append(word)
    yield from re.findall(r"Bash\(([^)]*)\)", " ".join(said))
