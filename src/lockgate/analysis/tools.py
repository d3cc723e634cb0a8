"""Effects of tools other than the shell, by the table ``data/tools.yaml``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from lockgate.analysis.mcp import effects_of_named_paths, find_paths, is_mcp, mcp_effects
from lockgate.core.lazy import lazy_re
from lockgate.core.model import Analysis, Effect, EffectKind, Label, ToolCall, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.core.version import resource_table
from lockgate.resources.categories import overrule
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects, recursive_read_effects, write_effects

if TYPE_CHECKING:
    from typing import Any

_HINT = "give every parameter of the tool as its schema says"
_LONGEST = 100_000
"""Characters of a path, address or pattern that are looked at; a longer one is not understood."""
_LISTS = frozenset({"addresses", "patch", "reads"})
"""Roles of parameters that name several things; ``tool_lists`` reads them."""
_ELSEWHERE = lazy_re(r"^(?:bridge|did):|^(?:session|cse)_|\[(?:session|cse)_[\w-]+\]$", re.IGNORECASE)


def analyse_tool(call: ToolCall, around: HostView) -> Analysis:
    """What a call of any tool can do. A shell command in it (``Monitor``) is analysed like one of ``Bash``."""
    if is_mcp(call.tool):
        return Analysis(mcp_effects(call, around), written=find_paths(call.tool_input))
    row = _rows().get(call.tool)
    if row is None:
        named = effects_of_named_paths(call, around, only_reads=False)
        return Analysis((*_effects_of_tool_without_row(call.tool, around), *named), written=find_paths(call.tool_input))
    problem = _misfit(row, call.tool_input)
    if problem:
        return Analysis((not_understood(call.tool, problem),), hints=(_HINT,))
    effects: list[Effect] = [
        _effect(call, row, written) for written in (*row.get("effects", ()), *_choose_effects(row, call.tool_input))
    ]
    analysis = Analysis(echoes=row.get("echoes", True) or _is_shaped(row, call.tool_input))
    for name, role in row.get("input", {}).items():
        value = call.tool_input.get(name)
        if role == "command" and value is not None:
            analysis = _command(value, call, around)
        else:
            effects += _effects_of_parameter(role, value, call, around)
        if role == "skill" and isinstance(value, str) and around.skills_run:
            effects += _effects_of_unread_skill(value, row["comes_with_client"], call, around)
    if "where_tasks_are_shared" in row and around.shares_tasks():
        effects += [_effect(call, row, written) for written in row["where_tasks_are_shared"]]
    if call.tool == "Monitor":
        effects += _socket(call, around)
    effects = [*analysis.effects, *effects]
    found = _apply_configuration(call.tool, tuple(dict.fromkeys(effects)), around)
    receipt = analysis.receipt if found == analysis.effects else ()
    return analysis._replace(effects=found, receipt=receipt, written=(*analysis.written, *_paths_written(row, call)))


def _paths_written(row: Mapping[str, Any], call: ToolCall) -> list[str]:
    """The files that a call writes by its parameters."""
    found: list[str] = []
    for name, role in row.get("input", {}).items():
        value = call.tool_input.get(name)
        if role == "write" and value:
            found.append(value)
        elif role == "patch" and value:
            from lockgate.analysis.tool_parameters import paths_of_patch

            found += paths_of_patch(value)
    return found


def _is_shaped(row: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Whether the agent says so much in a call that an address in its result may be of the agent's own making."""
    said = [(str(given.get(name, "")), most) for name, most in row.get("shaped_by", {}).items()]
    return any(len(text) > most or "://" in text for text, most in said)


def not_understood(tool: str, problem: str) -> Effect:
    """The effect of a call whose input is not what the tool takes: nobody can say what it does."""
    return Effect(EffectKind.EXECUTE, tool, "tool:input", f"the input was not understood: {problem}")


def list_known_tools() -> frozenset[str]:
    """The names of the tools in the table."""
    return frozenset(_rows())


@lru_cache(maxsize=1)
def _rows() -> dict[str, dict[str, Any]]:
    return {tool: row for row in resource_table("tools") for tool in row["tools"]}


def _misfit(row: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What is wrong with an input, empty where nothing is."""
    for name in row.get("required", ()):
        if given.get(name) is None:
            return f"{name} is missing"
    for name, role in row.get("input", {}).items():
        value = given.get(name)
        if role in _LISTS:
            if value is not None and (wrong := _list_problem(role, value)):
                return f"{name} {wrong}"
            continue
        if value is not None and not isinstance(value, str):
            return f"{name} is not a text"
        if isinstance(value, str) and len(value) > _LONGEST and role not in {"text", "command"}:
            return f"{name} is too long"
    return ""


def _effects_of_tool_without_row(tool: str, around: HostView) -> tuple[Effect, ...]:
    from lockgate.resources.services import effects_of_unknown_tool, service_effects

    declared, rule = around.rules.service(tool), around.rules.tool_category(tool)
    everything = around.rules.unknown_has_all and rule is None
    runs = Effect(EffectKind.EXECUTE, tool, "tool:unknown", "nobody knows what this tool does")
    returns = Effect(
        EffectKind.INGEST, tool, "tool:unknown", "nobody knows what this tool returns", gives=Label.UNTRUSTED
    )
    effects: tuple[Effect, ...] = (runs, returns)
    if declared is not None:
        effects = service_effects(tool, declared, everything=everything)
        if declared.public_sink is None and not everything:
            effects = tuple(runs if effect.kind is EffectKind.EGRESS else effect for effect in effects)
    elif everything:
        effects = (runs, *effects_of_unknown_tool(tool, "tool:unknown", everything=True))
    return effects if rule is None else overrule(effects, rule, tool, declared)


def _effect(call: ToolCall, row: Mapping[str, Any], written: Mapping[str, str]) -> Effect:
    gives = written.get("gives")
    return Effect(
        EffectKind(written["kind"]),
        call.tool,
        f"tool:{row['name']}",
        written["because"],
        Variant(written.get("variant", "")),
        gives=Label(gives) if gives else None,
    )


def _choose_effects(row: Mapping[str, Any], given: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """The effects that one parameter decides. A value of another type than a text or a truth value fits no case."""
    by = row.get("by")
    if by is None:
        return []
    value = given.get(by["parameter"])
    word = str(value).lower() if isinstance(value, bool) else value
    cases: dict[str, list[Mapping[str, str]]] = by["cases"]
    is_refused = "needs" in by and by["needs"] not in given
    other: list[Mapping[str, str]] = [] if is_refused else by.get("other", [])
    return cases.get(word, other) if isinstance(word, str) else other


def _list_problem(role: str, value: Any) -> str:
    from lockgate.analysis.tool_parameters import problem

    return problem(role, value)


def _effects_of_parameter(role: str, value: Any, call: ToolCall, around: HostView) -> tuple[Effect, ...]:
    if role in _LISTS and value is not None:
        from lockgate.analysis import tool_parameters

        return tuple(tool_parameters.effects(role, value, call, around))
    if role == "search":
        return _search(value or ".", call, around)
    if value is None:
        return ()
    by_path: dict[str, Callable[[str, str, HostView], tuple[Effect, ...]]] = {
        "read": read_effects,
        "write": write_effects,
    }
    if role in by_path:
        # The client cuts spaces off a path before it opens it; that they belong to the name is possible too.
        spellings = dict.fromkeys((value, value.strip().strip("\ufeff").strip()))
        return tuple(effect for path in spellings for effect in by_path[role](path, call.cwd, around))
    if role == "skill":
        from lockgate.analysis.prompts.skills import skill_effects

        given = call.tool_input.get("args")
        return skill_effects(value, given if isinstance(given, str) else "", call.cwd, around)
    if role == "recipient":
        return _message_effects(value)
    return _fetch(value, around) if role == "address" else ()


def _effects_of_unread_skill(called: str, known: Sequence[str], call: ToolCall, around: HostView) -> tuple[Effect, ...]:
    """The effect of a skill whose text is not found: the client may know where it lies, and runs the commands in it.

    A name of two parts may also be a prompt of an MCP server. Else it is likely a new one that comes with the client,
    and a clean session stays clean. One that comes with it has the name of no other, as far as that can be looked at.
    """
    name = called.strip().removeprefix("/").partition(" ")[0]
    if not name or around.read_skills(name, call.cwd):
        return ()
    nested = around.nested_skills(name)
    if nested or (name in known and nested is not None):
        return ()
    because = "the text of this skill is not found, and the commands in it would run before anybody reads it"
    gives = Label.UNTRUSTED if ":" in name or is_mcp(name) else None
    return (Effect(EffectKind.EXECUTE, name, "skill:not-found", because, gives=gives),)


def _search(root: str, call: ToolCall, around: HostView) -> tuple[Effect, ...]:
    """Effects of a search in all files below a folder, or in those that a glob picks."""
    found = recursive_read_effects(root, call.cwd, around)
    glob = call.tool_input.get("glob")
    if not isinstance(glob, str):
        return found
    from lockgate.analysis.search_globs import glob_effects

    return (*found, *glob_effects(glob[:_LONGEST], root, call.cwd, around))


def _command(command: str, call: ToolCall, around: HostView) -> Analysis:
    from lockgate.shell import analyse_shell

    return analyse_shell(command, call.cwd, around)


def _message_effects(recipient: str) -> tuple[Effect, ...]:
    """The effect of a message to a session of the same account that runs on another machine or in the cloud.

    Claude Code 2.1.329 takes its address, its id, and its name with the id in brackets. A name alone may be that of
    anybody, and mostly is that of an agent of this session.

    Args:
        recipient: To whom the message goes, in the client's words.
    """
    if not _ELSEWHERE.search(recipient.strip()):
        return ()
    because = "the message reaches a session on another machine or in the cloud"
    return (Effect(EffectKind.EGRESS, recipient, "tool:message", because),)


def _fetch(url: str, around: HostView) -> tuple[Effect, ...]:
    from lockgate.analysis.web import fetch_effects

    return fetch_effects(url, around)


def _socket(call: ToolCall, around: HostView) -> tuple[Effect, ...]:
    socket = call.tool_input.get("ws")
    if socket is None:
        return ()
    url = socket.get("url") if isinstance(socket, Mapping) else None
    if not isinstance(url, str):
        return (not_understood(call.tool, "ws.url is not a text"),)
    return _fetch(url, around)


def _apply_configuration(tool: str, effects: tuple[Effect, ...], around: HostView) -> tuple[Effect, ...]:
    """Apply what the configuration says about a tool by its name."""
    declared = around.rules.service(tool)
    if declared is not None:
        from lockgate.resources.services import apply_declaration

        effects = apply_declaration(tool, effects, declared)
    rule = around.rules.tool_category(tool)
    return effects if rule is None else overrule(effects, rule, tool, declared)
