"""``lockgate plugins``: lists the plugins that are asked about calls, and tries one."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from typing import Any, NamedTuple

import click

from lockgate.cli.common.colour import paint
from lockgate.cli.common.state import WRONG, unreadable
from lockgate.configuration.load import load_for_cli
from lockgate.configuration.plugins.asking import Plugins
from lockgate.configuration.plugins.loading import Plugin, name_of
from lockgate.core.display_text import visible
from lockgate.core.errors import PluginError, StoreError
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall, Verdict
from lockgate.core.questions import Objection, PluginEntry, ResultQuestion, RuleSets, RulesQuestion
from lockgate.gate.objections import rule_sets
from lockgate.system.folders import folders

_CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("Bash", {"command": "ls -l"}, "total 0"),
    ("Bash", {"command": "git push --force origin main"}, "Everything up-to-date"),
    ("Read", {"file_path": "README.md"}, "# Readme"),
    ("Write", {"file_path": "notes.txt", "content": "hello"}, "written"),
    ("WebFetch", {"url": "https://example.com/", "prompt": "what is it?"}, "An example."),
    ("mcp__tracker__get_issue", {"number": 7}, "It does not work."),
)
"""Calls that a plugin is tried with, and their results."""


@click.group(short_help="Show plugins, and try one.")
def plugins() -> None:
    """Plugins are asked about each call before it runs, and about each result. They can only tighten."""


@plugins.command("list", short_help="Show the plugins that are asked here.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_plugins(as_json: bool) -> None:
    """Show each plugin in the order in which they are asked, and load it to see whether that works.

    Exit status: 0 all are loaded, 1 one cannot be (and so every call is denied), 3 state not readable.
    """
    try:
        found = load_plugins(os.getcwd())
    except StoreError as error:
        raise unreadable(error) from error
    if as_json:
        click.echo(json.dumps({"plugins": [seen.as_json for seen in found]}, indent=2))
    elif not found:
        click.echo("no plugins: the key `plugins` names none (docs/plugins.md)")
    else:
        for seen in found:
            click.echo(seen.line)
    sys.exit(WRONG if any(seen.problem for seen in found) else 0)


class PluginStatus(NamedTuple):
    """A plugin of the configuration, and what came of loading it."""

    entry: PluginEntry
    plugin: Plugin | None
    problem: str

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "name": name_of(self.entry),
            "entry": self.entry.text,
            "source": self.plugin.source if self.plugin else None,
            "version": self.plugin.version if self.plugin else None,
            "sha256": (self.plugin.digest or None) if self.plugin else None,
            "hooks": _hooks(self.plugin),
            "problem": self.problem or None,
        }

    @property
    def line(self) -> str:
        """All of it, for a person."""
        if self.plugin is None:
            return f"{paint('fail', 'red')}  {visible(self.problem, 400)}; until then every call is denied"
        return f"{paint('ok', 'green')}    {_describe(self.entry, self.plugin)}"


def _describe(entry: PluginEntry, plugin: Plugin) -> str:
    kept = f"sha256 {plugin.digest}" if plugin.digest else f"version {plugin.version or '?'}"
    return f"{name_of(entry)}: {', '.join(_hooks(plugin))}; {visible(plugin.source, 300)}; {kept}"


def load_plugins(folder: str) -> list[PluginStatus]:
    """The plugins that hold in a folder, each loaded. Raises ``StoreError``."""
    loader = Plugins(folders().home)
    entries = rule_sets(load_for_cli(folder)).plugins
    with redirect_stdout(sys.stderr):
        return [_status_of(loader, entry) for entry in entries]


def _status_of(loader: Plugins, entry: PluginEntry) -> PluginStatus:
    try:
        return PluginStatus(entry, loader.load(entry), "")
    except PluginError as error:
        return PluginStatus(entry, None, str(error))


def _hooks(plugin: Plugin | None) -> list[str]:
    if plugin is None:
        return []
    return [name for name, hook in (("before_tool_use", plugin.before), ("after_tool_use", plugin.after)) if hook]


# ---------------------------------------------------------------- check
class Tried(NamedTuple):
    """A plugin's answers to one call, and to its result."""

    hook: str
    call: ToolCall
    said: Sequence[Objection]
    ms: float

    @property
    def answer(self) -> str:
        """``allow``, ``ask`` or ``deny``."""
        return max((objection.verdict for objection in self.said), default=Verdict.ALLOW).word

    @property
    def reason(self) -> str:
        """The reason of the objection; empty where there is none."""
        return self.said[0].reason if self.said else ""


@plugins.command(short_help="Load a file and show what it would answer.")
@click.argument("file", type=click.Path())
@click.option("--call", "calls", multiple=True, metavar="JSON", help='A call: {"tool_name": ..., "tool_input": {...}}.')
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(file: str, calls: tuple[str, ...], as_json: bool) -> None:
    """Load FILE in this process and ask it about a few calls, which are not run, or about those that you give.

    Nothing is recorded. What the plugin prints goes to standard error; a hook throws it away.

    Exit status: 0 it answers, 1 it cannot be loaded or fails, 2 usage.
    """
    log: list[tuple[str, ...]] = []
    loader = Plugins(folders().home, lambda *told: log.append(told))
    entry = PluginEntry(os.path.abspath(file))
    given = [_call(text) for text in calls]
    with redirect_stdout(sys.stderr):
        seen = _status_of(loader, entry)
        tried = list(_try(loader, entry, seen.plugin, given)) if seen.plugin else []
    failed = bool(seen.problem or log)
    if as_json:
        told = [{"hook": one.hook, "tool": one.call.tool, "input": dict(one.call.tool_input), "answer": one.answer,
                 "reason": one.reason or None, "ms": one.ms} for one in tried]  # fmt: skip
        click.echo(json.dumps({"ok": not failed, **seen.as_json, "failures": log, "calls": told}, indent=2))
    else:
        click.echo(seen.line)
        for one in tried:
            shown = visible(json.dumps(dict(one.call.tool_input), ensure_ascii=False), 100)
            because = f": {visible(one.reason, 300)}" if one.reason else ""
            click.echo(f"{one.answer:5} {one.hook} {visible(one.call.tool, 60)} {shown}{because}  ({one.ms:.1f} ms)")
        for _, kind, place in log:
            click.echo(f"{paint('fail', 'red')}  {visible(kind, 60)} at {visible(place, 200)}")
    sys.exit(WRONG if failed else 0)


def _call(text: str) -> tuple[str, dict[str, Any], str]:
    try:
        value = json.loads(text)
        name, given = value["tool_name"], value["tool_input"]
    except (ValueError, TypeError, KeyError) as error:
        raise click.UsageError('--call is {"tool_name": "...", "tool_input": {...}}') from error
    if not isinstance(name, str) or not isinstance(given, dict):
        raise click.UsageError("in --call, tool_name is a text and tool_input an object")
    return name, given, str(value.get("tool_output", ""))


def _try(
    loader: Plugins, entry: PluginEntry, plugin: Plugin, calls: Sequence[tuple[str, dict[str, Any], str]]
) -> Iterator[Tried]:
    context = Context("lockgate", Subject("check"), os.getcwd(), os.getcwd())
    sets = RuleSets(plugins=(entry,))
    for tool, tool_input, output in calls or _CALLS:
        call = ToolCall(tool, tool_input, os.getcwd())
        if plugin.before:
            began = time.perf_counter()
            said = loader.before(RulesQuestion(context, call, sets=sets))
            yield Tried("before_tool_use", call, said, round((time.perf_counter() - began) * 1000, 3))
        if plugin.after:
            began = time.perf_counter()
            said = loader.after(ResultQuestion(context, call, output, sets))
            yield Tried("after_tool_use", call, said, round((time.perf_counter() - began) * 1000, 3))
