"""Merges layers of configuration by Lockbox's rules.

New entries of a list go before those of the layers below, ``!entry`` removes one of theirs, and of single values
the last writer wins. A compiled configuration is a JSON-able value, so that it can be cached:
``lockgate.policy.compiled`` makes functions of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lockgate.core.model import Category, LabelState
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.policy.lockbox.commands import NOT_SAFE, STEPS
from lockgate.policy.lockbox.javascript_regex import translate, translate_option
from lockgate.policy.profiles import DEFAULT, STRICT, chain, read_shipped_profiles
from lockgate.policy.validation import pattern_lists, pattern_problem
from lockgate.system.documents.values import format_path

if TYPE_CHECKING:
    from typing import Any

SCALARS = ("profile", "mcp_default", "deadline_seconds", "retention_days", "pause", "prompts", "strict")
WHOLES = ("judge", "approvals", "approvers", "plugins", "git", "audit", "observability", "ci", "store", "trust")
"""Keys whose value is taken whole from the last layer that has it, like that of a single one."""
JOINED = frozenset({"profile", "mcp_default", "strict", "plugins", "git"})
"""Keys of which the stricter holds, whoever says it. Of all other single values a ``strict`` layer's, or that of one
below it, holds for all above."""
OWNERS = frozenset(
    {"judge", "approvals", "approvers", "plugins", "audit", "observability", "pause", "prompts", "store", "trust"}
)
"""Keys that say whom the gate itself asks, runs or tells, and how and how long it keeps its record.

So are those that say whether it can be paused, what the client need not ask, and whose words are trusted. No project
says any of them, however trusted its file is.
"""
PATHS = ("protected_paths", "secret_paths", "persistent_paths")
SHIPPED = "shipped"
"""The name of the layer that this package is."""
_LOCKBOX = "lockbox.json"
"""How the name of a layer ends that is a file of Lockbox."""


class LockboxLayer(Record):
    """One valid configuration file."""

    name: str
    """The layer's name in evidence and ``config show``: ``user lockbox.json``."""
    value: Mapping[str, Any]
    trusted: bool = True
    """Whether it may loosen. A project's file may not until a person trusts its content."""
    project: bool = False
    """Whether it lies in a project, where agents write."""


class _Merge:
    """A merge in progress; layers are taken from the lowest to the highest."""

    def __init__(self) -> None:
        self.scalars: dict[str, list[Any]] = {"profile": [DEFAULT, SHIPPED]}
        self.cells: dict[str, dict[str, list[Any]]] = {}
        self.patterns: dict[str, list[list[str]]] = {step: [] for step in (*STEPS, NOT_SAFE)}
        self.tools: dict[str, list[str]] = {}
        self.mcp_tools: dict[str, list[str]] = {}
        self.services: dict[str, dict[str, list[Any]]] = {}
        self.hosts: list[list[Any]] = []
        self.paths: dict[str, list[list[str]]] = {key: [] for key in PATHS}
        self.notes: list[list[str]] = []
        self.projects: list[str] = []
        """The names of layers that lie in a project."""
        self.fixed: dict[str, str] = {}
        """Keys that no further layer can say, and which ``strict`` layer forbids it."""

    def begin(self, layers: Sequence[LockboxLayer]) -> None:
        """Choose the default: who has a file of Lockbox has chosen that it refuses. A layer may name another one."""
        if any(layer.name.endswith(_LOCKBOX) and not layer.project for layer in layers):
            self.scalars["profile"] = [STRICT, SHIPPED]

    def take(self, layer: LockboxLayer) -> None:
        value, name = layer.value, layer.name
        self.projects += [name] if layer.project else []
        for key in (*SCALARS, *WHOLES):
            if layer.project and key in OWNERS and key in value:
                self.notes.append([f"{name}:{key}", "is passed over: only your own and the managed file say it"])
            elif key in self.fixed and key in value:
                self.notes.append([f"{name}:{key}", f"is passed over: {self.fixed[key]} is strict, and holds"])
            elif key in value:
                self.scalars[key] = [value[key], name]
        if value.get("strict"):
            self.fixed.update(dict.fromkeys(self.scalars.keys() - JOINED - self.fixed.keys(), name))
        for row, cells in value.get("table", {}).items():
            columns = cells if isinstance(cells, dict) else dict.fromkeys(map(str, LabelState), cells)
            for column, cell in columns.items():
                words = [verdict.word for verdict in chain(cell)]
                self.cells.setdefault(row, {})[column] = [words, name]
        for step, path, entries in pattern_lists(value):
            self.take_patterns(step, f"{name}:{format_path(path)}", entries)
        self.take_tools(value.get("tools", {}), name)
        for tool, category in _entries(value.get("mcp_tools", {})):
            self.mcp_tools[tool] = [category, f"{name}:mcp_tools.{tool}"]
        for service, flags in _entries(value.get("services", {})):
            merged = self.services.setdefault(service, {})
            merged.update({flag: [said, name] for flag, said in flags.items()})
        self.take_hosts(value.get("trusted_domains", []), name)
        for key in PATHS:
            added = [entry for entry in value.get(key, []) if not entry.startswith("!")]
            gone = self.removals(value.get(key, []), [entry for entry, _ in self.paths[key]], f"{name}:{key}")
            self.paths[key] = [[entry, name] for entry in added] + [e for e in self.paths[key] if e[0] not in gone]

    def removals(self, entries: Iterable[str], known: Sequence[str], where: str) -> set[str]:
        """What ``!entry`` removes; what is not there is noted."""
        gone = {entry[1:] for entry in entries if entry.startswith("!")}
        for entry in sorted(gone.difference(known)):
            self.notes.append([where, f"!{entry} removes nothing: no layer below has it"])
        return gone & set(known)

    def take_patterns(self, step: str, where: str, entries: Sequence[str]) -> None:
        base = self.patterns[step]
        gone = {entry[1:] for entry in entries if entry.startswith("!")}
        known = {written for written, _ in base}
        added = [[e, f"{where}[{index}]"] for index, e in enumerate(entries) if not e.startswith("!")]
        self.patterns[step] = added + [pair for pair in base if pair[0] not in gone]
        for index, entry in enumerate(entries):
            if entry.startswith("!") and entry[1:] not in known:
                self.not_there(step, entry[1:], f"{where}[{index}]")

    def not_there(self, step: str, entry: str, rule: str) -> None:
        """A removal from Lockbox's shipped patterns, of which there are none here.

        What is no longer safe falls to Lockbox's default, *acting*. What is no longer acting or unsafe would be a
        loosening of knowledge that is no list, and is passed over.
        """
        problem = pattern_problem(entry)
        if step == "safe" and not problem:
            self.patterns[NOT_SAFE].insert(0, [entry, rule])
        elif problem:
            self.notes.append([rule, f"removes nothing: {problem}"])
        else:
            self.notes.append([rule, "removes nothing: no layer below has it, and what Lockgate ships is no list"])

    def take_tools(self, value: Mapping[str, Any], name: str) -> None:
        said: dict[str, list[str]] = {}
        for key, entry in _entries(value):
            pairs = [(tool, key) for tool in entry] if isinstance(entry, list) else [(key, entry)]
            for index, (tool, category) in enumerate(pairs):
                rule = f"{name}:tools.{key}" + (f"[{index}]" if isinstance(entry, list) else "")
                if tool.startswith("!"):
                    self.remove_tool(tool[1:], category, rule)
                elif tool in said:
                    said[tool] = [_both(said[tool][0], category), f"{said[tool][1]}, {rule}"]
                else:
                    said[tool] = [category, rule]
        self.tools.update(said)

    def remove_tool(self, tool: str, category: str, rule: str) -> None:
        if self.tools.get(tool, [""])[0] == category:
            del self.tools[tool]
        elif category == "safe":
            self.tools[tool] = ["acting", rule]
        else:
            self.notes.append([rule, "removes nothing: no layer below has it, and what Lockgate ships is no list"])

    def take_hosts(self, entries: Sequence[Any], name: str) -> None:
        texts = [entry for entry in entries if isinstance(entry, str)]
        gone = self.removals(texts, [host for host, _, _ in self.hosts], f"{name}:trusted_domains")
        added: dict[str, list[Any]] = {}
        for entry in entries:
            if isinstance(entry, str) and entry.startswith("!"):
                continue
            host = entry if isinstance(entry, str) else entry["host"]
            content = not isinstance(entry, str) and entry.get("content") == "trusted"
            added[host] = [host, content, name]
        self.hosts = [*added.values(), *(item for item in self.hosts if item[0] not in gone | added.keys())]

    def compile(self) -> dict[str, Any]:
        profile = read_shipped_profiles()[self.scalars["profile"][0]].with_cells(
            {
                row: {LabelState(column): chain(words) for column, (words, _) in columns.items()}
                for row, columns in self.cells.items()
            },
        )
        return {
            "profile": profile.to_json(),
            "scalars": self.scalars,
            "cells": self.cells,
            "patterns": [
                [step, translate(written), translate_option(written), rule, written]
                for step, pairs in self.patterns.items()
                for written, rule in pairs
            ],
            "tools": self.tools,
            "mcp_tools": self.mcp_tools,
            "services": self.services,
            "trusted_domains": self.hosts,
            "paths": self.paths,
            "notes": self.notes,
            "projects": self.projects,
        }


def _entries(value: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The entries of a mapping but its comments."""
    return [(key, entry) for key, entry in value.items() if not key.startswith("_")]


def _both(one: str, other: str) -> str:
    """The category of what is in two lists: it reads if either does, and acts if either does."""
    reads = "unsafe" in one or "unsafe" in other
    acts = "acting" in one or "acting" in other
    if acts:
        return (Category.UNSAFE_ACTING if reads else Category.ACTING).value
    return (Category.UNSAFE if reads else Category.SAFE).value


def merge(layers: Iterable[LockboxLayer]) -> dict[str, Any]:
    """One compiled configuration of all layers, lowest first, whatever their trust."""
    layers = tuple(layers)
    merging = _Merge()
    merging.begin(layers)
    for layer in layers:
        merging.take(layer)
    return merging.compile()


def compile_layers(layers: Sequence[LockboxLayer]) -> list[dict[str, Any]]:
    """The compiled configurations that decide together: a call gets the strictest of their verdicts.

    The first is that of all trusted layers. There is one more for the layers up to each that is ``strict``, and one
    with the untrusted layers: so a layer above a strict one, and a project that nobody trusts, can tighten and
    never loosen.
    """
    trusted = [layer for layer in layers if layer.trusted]
    sets = [trusted]
    sets += [trusted[: place + 1] for place, layer in enumerate(trusted[:-1]) if layer.value.get("strict")]
    if len(trusted) < len(layers):
        sets.append(list(layers))
    return [merge(some) for some in sets]
