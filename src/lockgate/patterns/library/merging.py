"""Merges the layers of pattern files into one library.

A layer changes only the keys that it gives. One that may not loosen (a project's, until a person trusts its content)
adds rules and groups, and makes what is there stricter; what else it says is left out, with a note. Nothing that it
adds can take away from what is below:

* Its rules are ``generic``: a match of theirs never stands in for one of another layer.
* Rules that it adds to a group of another layer have a group of their own beside it (``GROUP@project``). It has
  the same mode and fallback, and time of its own: they cannot use up that of the others.
* What it redacts is replaced by the standard text. A replacement of its own would be words that a project puts into a
  tool's output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from lockgate.core.errors import ConfigError
from lockgate.core.model import current_tool_name, tool_names
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.library.loading import groups_of, rule_id
from lockgate.resources.globs import name_matches
from lockgate.system.documents.schema import did_you_mean
from lockgate.system.documents.values import Document, Path, format_path

if TYPE_CHECKING:
    from typing import Any

SHIPPED = "shipped"
MOST_PROJECT_RULES = 500
"""Rules that layers which may not loosen can add."""
MOST_PROJECT_MS = 200.0
"""Most time of a group that such a layer adds."""
MODES = ("off", "warn", "ask", "block")
FALLBACKS = ("allow", "warn", "ask", "block")
SEVERITIES = ("low", "medium", "high", "critical")
_SCALES = {"mode": MODES, "fallback": FALLBACKS, "severity": SEVERITIES}
DEFAULTS: Mapping[str, Any] = {
    "mode": "warn",
    "fallback": "block",
    "severity": "high",
    "kind": "other",
    "timeout_ms": 100,
    "boundary": "word",
    "multiline": False,
    "generic": False,
    "enabled": True,
}
"""What holds where no layer says."""
_FOR_PEOPLE = ("name", "description", "provider", "source", "examples")


class PatternLayer(Record):
    """A checked pattern file."""

    name: str
    """The layer's name in evidence: ``user patterns.yaml``."""
    file: str
    document: Document
    may_loosen: bool = True
    held: str = "until the file is trusted"
    """When or why it may not, for notes."""


class RuleState:
    """A rule as the layers so far make it."""

    def __init__(self, group: str, written: Mapping[str, Any], layer: PatternLayer, path: Path) -> None:
        self.group, self.id = group, rule_id(written)
        self.keys: dict[str, Any] = {"type": self.id, **written}
        self.layers = [layer.name]
        self.trusted = layer.may_loosen
        self.file, self.line = layer.file, layer.document.line(path)

    def change(self, written: Mapping[str, Any], layer: PatternLayer) -> None:
        """Take the keys that a layer gives. Examples of another pattern say nothing about the new one."""
        if written.get("pattern", self.keys.get("pattern")) != self.keys.get("pattern"):
            self.keys.pop("examples", None)
        self.keys.update(written)
        self.layers.append(layer.name)


class GroupState:
    """A group as the layers so far make it."""

    def __init__(self, id_: str, side: str, layer: PatternLayer) -> None:
        self.id, self.side, self.layer, self.trusted = id_, side, layer.name, layer.may_loosen
        self.keys: dict[str, Any] = {}
        self.rules: dict[str, RuleState] = {}
        self.includes: dict[str, bool] = {}
        """Other groups, and whether a layer that may loosen has named them."""

    def value(self, key: str) -> str:
        """A mode, or a fallback."""
        found: str = self.keys.get(key, DEFAULTS[key])
        return found


class ToolState:
    """The settings of the tools with a name."""

    def __init__(self, groups: list[str] | None = None, fallback: str | None = None) -> None:
        self.groups = groups
        """``None`` for all."""
        self.fallback = fallback
        self.modes: dict[str, str] = {}

    def copy(self) -> ToolState:
        """The same, to be changed."""
        made = ToolState(None if self.groups is None else list(self.groups), self.fallback)
        made.modes = dict(self.modes)
        return made


class MergeState:
    """The result of the layers so far."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupState] = {}
        self.tools: dict[str, ToolState] = {}
        self.problems: list[ConfigError] = []
        self.notes: list[str] = []
        self.added = count(1)

    def add(self, layer: PatternLayer) -> None:
        """Lay one layer over the others."""
        value: Mapping[str, Any] = layer.document.value
        for side, group, written in groups_of(value):
            self._group(layer, ("patterns", side, group), written)
        _add_tools(self, layer, value.get("tool_rules", {}))

    def problem(self, layer: PatternLayer, path: Path, text: str) -> None:
        """Report what cannot be taken; the rest of the layer holds."""
        self.problems.append(ConfigError(layer.file, layer.document.line(path), format_path(path), text))

    def note(self, layer: PatternLayer, path: Path, text: str) -> None:
        """Say what a layer that may not loosen has said in vain."""
        self.notes.append(f"{layer.file}:{layer.document.line(path)}: {format_path(path)}: {text}")

    # ------------------------------------------------------------ groups and rules
    def _group(self, layer: PatternLayer, path: Path, written: Mapping[str, Any]) -> None:
        _, side, name = path
        assert isinstance(side, str)
        assert isinstance(name, str)
        group = self.groups.get(name)
        own = {key: value for key, value in written.items() if key not in ("rules", "include")}
        if group is None:
            group = self.groups[name] = GroupState(name, side, layer)
            group.keys.update(own if layer.may_loosen else self._bind(layer, path, own))
        elif group.side != side:
            self.problem(layer, path, f"a lower layer has this group in {group.side}: give this one another id")
            return
        elif layer.may_loosen:
            group.keys.update(own)
        else:
            self._tighten(layer, path, group.keys, own)
        for other in written.get("include", ()):
            group.includes[other] = group.includes.get(other, False) or layer.may_loosen
        for index, rule in enumerate(written.get("rules", ())):
            self._rule(layer, (*path, "rules", index), group, rule)

    def _bind(self, layer: PatternLayer, path: Path, own: dict[str, Any]) -> dict[str, Any]:
        """A new group, or rule, of a layer that may not loosen."""
        if own.get("timeout_ms", 0) > MOST_PROJECT_MS:
            self.note(layer, (*path, "timeout_ms"), f"at most {MOST_PROJECT_MS:.0f} ms {layer.held}")
            own["timeout_ms"] = MOST_PROJECT_MS
        if own.pop("replacement", ""):
            self.note(layer, (*path, "replacement"), f"the standard text is used {layer.held}")
        return own

    def _rule(self, layer: PatternLayer, path: Path, group: GroupState, written: Mapping[str, Any]) -> None:
        known = group.rules.get(rule_id(written))
        if known is not None and layer.may_loosen:
            known.change(written, layer)
        elif known is not None:
            self._tighten(layer, path, known.keys, written, also=("id",))
        elif "pattern" not in written:
            self.problem(layer, path, "no lower layer has a rule with this id in this group: a new one needs `pattern`")
        elif layer.may_loosen:
            group.rules[rule_id(written)] = RuleState(group.id, written, layer, path)
        elif next(self.added) > MOST_PROJECT_RULES:
            self.problem(layer, path, f"more than {MOST_PROJECT_RULES} rules: the rest counts when the file is trusted")
        else:
            bounded = self._bind(layer, path, dict(written)) | {"generic": True}
            group.rules[rule_id(written)] = RuleState(group.id, bounded, layer, path)

    def _tighten(
        self,
        layer: PatternLayer,
        path: Path,
        below: dict[str, Any],
        written: Mapping[str, Any],
        also: tuple[str, ...] = (),
    ) -> None:
        """Take what is stricter, and note what is not."""
        for key, value in written.items():
            scale = _SCALES.get(key)
            if key in also or key in _FOR_PEOPLE or below.get(key, DEFAULTS.get(key)) == value:
                continue
            if scale is None:
                self.note(layer, (*path, key), f"it can only tighten {layer.held}: left as it is below")
            elif scale.index(value) > scale.index(below.get(key, DEFAULTS[key])):
                below[key] = value
            else:
                self.note(layer, (*path, key), f"it can only tighten: `{below.get(key, DEFAULTS[key])}` holds")


def merge(layers: Sequence[PatternLayer]) -> MergeState:
    """Lay layers over each other, from the lowest to the highest; those that may not loosen come last."""
    state = MergeState()
    for layer in sorted(layers, key=lambda layer: not layer.may_loosen):
        state.add(layer)
    for problem in _find_dangling(state, layers):
        state.problem(*problem)
    return state


def _find_dangling(state: MergeState, layers: Sequence[PatternLayer]) -> Iterator[tuple[PatternLayer, Path, str]]:
    """References to groups that no layer has. They are left out; the rest holds."""

    def name_unknown(name: str) -> str:
        return f"there is no group `{name}`" + did_you_mean(name, list(state.groups))

    for layer in layers:
        value = layer.document.value
        for side, group, written in groups_of(value):
            for index, name in enumerate(written.get("include", ())):
                if name not in state.groups:
                    yield layer, ("patterns", side, group, "include", index), name_unknown(name)
        for tool, written in value.get("tool_rules", {}).items():
            for index, name in enumerate(written.get("patterns", ())):
                if name not in state.groups:
                    yield layer, ("tool_rules", tool, "patterns", index), name_unknown(name)
            for name in written.get("modes", {}):
                if name not in state.groups:
                    yield layer, ("tool_rules", tool, "modes", name), name_unknown(name)


# ---------------------------------------------------------------- tools


def _add_tools(state: MergeState, layer: PatternLayer, written: Mapping[str, Any]) -> None:
    """Take what a layer says about tools, under the names that they have today.

    Where a file has a tool under its former name too, what it says under the name of today counts.
    """
    if layer.may_loosen:
        in_order = sorted(written, key=lambda tool: current_tool_name(tool) == tool)
        names = {tool: current_tool_name(tool) for tool in in_order}
        new = {names[tool]: ToolState() for tool in written if names[tool] not in state.tools}
        # The first name that fits counts: those of a higher layer stand before those of the layers below.
        state.tools = new | state.tools
        for tool, name in names.items():
            content, rule = written[tool], state.tools[name]
            rule.groups = list(content["patterns"]) if "patterns" in content else rule.groups
            rule.fallback = content.get("fallback", rule.fallback)
            rule.modes.update(content.get("modes", {}))
        return
    for tool, content in written.items():
        _tighten_tool(state, layer, tool, content)


def _tighten_tool(state: MergeState, layer: PatternLayer, tool: str, written: Mapping[str, Any]) -> None:
    path: Path = ("tool_rules", tool)
    tool = current_tool_name(tool)
    rule = state.tools.get(tool)
    if rule is None:
        if any(sign in tool for sign in "*?["):
            state.note(layer, path, f"it can only tighten {layer.held}: name tools without * and ?")
            return
        rule = (_rule_for(state, tool) or ToolState()).copy()
        state.tools[tool] = rule
    if rule.groups is not None:
        rule.groups += [group for group in written.get("patterns", ()) if group not in rule.groups]
    fallback = written.get("fallback")
    if fallback is not None and fallback != rule.fallback:
        if FALLBACKS.index(fallback) > FALLBACKS.index(rule.fallback or "ask"):
            rule.fallback = fallback
        else:
            holds = f"`{rule.fallback}`" if rule.fallback else "that of each group"
            state.note(layer, (*path, "fallback"), f"it can only tighten: {holds} holds")
    for group, mode in written.get("modes", {}).items():
        below = rule.modes.get(group) or (state.groups[group].value("mode") if group in state.groups else "off")
        if MODES.index(mode) > MODES.index(below):
            rule.modes[group] = mode
        elif mode != below:
            state.note(layer, (*path, "modes", group), f"it can only tighten: `{below}` holds")


def _rule_for(state: MergeState, tool: str) -> ToolState | None:
    """What is said so far about a tool that has no rule of its own."""
    names = tool_names(tool)
    return next((rule for glob, rule in state.tools.items() if any(name_matches(glob, name) for name in names)), None)
