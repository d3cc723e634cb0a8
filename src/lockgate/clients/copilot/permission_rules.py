"""Copilot CLI's permission rules about a shell command that the gate is about to rewrite.

Observed with version 1.0.102: it holds ``--deny-tool`` against the changed command, and drops it where a hook answers
``allow``. Without that answer it asks about each word of the changed command that is a path outside of the project,
also with ``--allow-all-tools``; only ``--allow-all-paths`` ends that. So a command that a refusing rule may mean is not
changed. ``allow`` is said only where the client would have let the unchanged command run unasked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from lockgate.clients.common.rule_words import mentions, stays_inside
from lockgate.clients.common.transcripts import read_file
from lockgate.core.record import TYPE_CHECKING
from lockgate.system import caller
from lockgate.system.process_arguments import CommandLine, command_line

if TYPE_CHECKING:
    from lockgate.core.events import Context
    from lockgate.core.model import ToolCall

_MOST = 1024 * 1024
_DENYING = ("--deny-tool", "--deny-url")
_EVERYTHING = ("--allow-all", "--yolo")
_YES = frozenset({"true", "1", "yes", "on", "y"})
"""What ``COPILOT_ALLOW_ALL`` takes for yes (``copilot help environment``)."""
_PLAIN = re.compile(r"[A-Za-z0-9_./=:@%+, -]+", re.ASCII)
"""Commands that are one program with plain words: what a rule says about their beginning, it says about all of them."""


def may_be_refused(context: Context, call: ToolCall) -> bool:
    """Whether a rule that refuses may be about a command. In doubt it is."""
    started = command_line(context.process)
    if not any(started.words):
        return True
    command = str(call.tool_input.get("command", ""))
    if not started.exact:
        return any(started.has(option) for option in _DENYING)
    return any(mentions(rule, command) for rule in _shell_rules(started, "--deny-tool"))


def asks_by_default(context: Context, call: ToolCall, home: str) -> bool:
    """Whether the client asks about a command only because no rule lets it run. In doubt a rule has another reason."""
    started = command_line(context.process)
    if not (any(started.words) and started.exact) or _is_restricted(started, context, home):
        return False
    return stays_inside(str(call.tool_input.get("command", "")), context.workspace)


def is_allowed(context: Context, call: ToolCall, home: str) -> bool:
    """Whether the client would let exactly this command run unasked. In doubt it would not."""
    started = command_line(context.process)
    if _is_restricted(started, context, home):
        return False
    if any(started.has(option) for option in _EVERYTHING):
        return True
    command = str(call.tool_input.get("command", ""))
    if not started.has("--allow-all-paths") and not stays_inside(command, context.workspace):
        return False
    if started.has("--allow-all-tools") or caller.environ().get("COPILOT_ALLOW_ALL", "").strip().lower() in _YES:
        return True
    return any(_begins(rule, command) for rule in _shell_rules(started, "--allow-tool"))


def _is_restricted(started: CommandLine, context: Context, home: str) -> bool:
    """Whether the client may hold rules that refuse something, which its ``allow`` drops."""
    return any(started.has(option) for option in (*_DENYING, "--config-dir")) or _denies_addresses(context, home)


def _begins(rule: str, command: str) -> bool:
    if not rule:
        return True
    beginning = rule.removesuffix(":*")
    if not _PLAIN.fullmatch(command):
        return False
    return command == beginning or (beginning != rule and command.startswith(f"{beginning} "))


def _shell_rules(started: CommandLine, option: str) -> Iterator[str]:
    """What stands in the brackets of each rule about the shell; empty for one that means every command."""
    listening = False
    for word in started.words:
        value = word
        if word.startswith("--"):
            name, _, value = word.partition("=")
            listening = name == option
        if listening and (value == "shell" or value.startswith("shell(")):
            yield from re.findall(r"shell\(([^)]*)\)", value) or [""]


def _denies_addresses(context: Context, home: str) -> bool:
    """Whether settings may refuse addresses. They are JSON with comments: that the name is there counts."""
    own = caller.environ().get("COPILOT_HOME") or os.path.join(home, ".copilot")
    for folder in (own, os.path.join(context.workspace, ".github", "copilot")):
        for name in ("settings.json", "settings.local.json", "config.json"):
            file = os.path.join(folder, name)
            if os.path.lexists(file) and b"deniedUrls" in (read_file(file, _MOST) or b"deniedUrls"):
                return True
    return False
