"""Reports on a compiled configuration: each value with its layer, and what it loosens against another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.policy.compiled import strictest_flags
from lockgate.policy.decide import possible
from lockgate.policy.lockbox.commands import NOT_SAFE
from lockgate.policy.lockbox.merging import PATHS, SHIPPED
from lockgate.policy.profiles import ALL, COLUMNS, FALLS_BACK, LOCKBOX, Profile
from lockgate.resources.globs import is_wild, names_meet

if TYPE_CHECKING:
    from typing import Any

    Compiled = Mapping[str, Any]

_OPENING = ("override_safe", "unsafe", "safe")
_DEFAULT_CATEGORY = "unsafe_acting"
"""What a tool is of which nothing is known: any other category is looser."""
_UNDECLARED = {LOCKBOX: "public_source, public_sink", ALL: "all flags"}
_STRICTNESS = ("allow", "ask", "deny")
_NAMES = {NOT_SAFE: "not safe any more"}


class Value(Record):
    """An effective value."""

    key: str
    value: Any
    layer: str


def values(compiled: Compiled) -> Iterator[Value]:
    """Every effective value with the layer that it came from, in the order of the documentation."""
    for key, (value, layer) in compiled["scalars"].items():
        yield Value(key, value, layer)
    yield from _cells(compiled)
    for step, _, _, rule, written in compiled["patterns"]:
        yield Value(f"bash_patterns.{step}", written, _layer(rule))
    for key in ("tools", "mcp_tools"):
        for name, (category, rule) in compiled[key].items():
            yield Value(f"{key}.{name}", category, _layer(rule))
    for host, content, layer in compiled["trusted_domains"]:
        yield Value("trusted_domains", f"{host} (content too)" if content else host, layer)
    for key in PATHS:
        for path, layer in compiled["paths"][key]:
            yield Value(key, path, layer)
    for name, flags in compiled["services"].items():
        for flag, (value, layer) in flags.items():
            yield Value(f"services.{name}.{flag}", value, layer)
    yield Value("services (not declared)", _UNDECLARED[compiled["profile"]["unknown_services"]], SHIPPED)


def _cells(compiled: Compiled) -> Iterator[Value]:
    profile = Profile.from_json(compiled["profile"])
    for row in profile.table:
        changed = {**compiled["cells"].get(FALLS_BACK.get(row, row), {}), **compiled["cells"].get(row, {})}
        for column in COLUMNS:
            words = [verdict.word for verdict in profile.cell(row, column)]
            layer = changed[column][1] if column in changed else SHIPPED
            yield Value(f"table.{row}.{column}", words[0] if len(words) == 1 else words, layer)


def _layer(rule: str) -> str:
    """The layer that a rule names first."""
    return rule.partition(":")[0]


def loosenings(before: Compiled, after: Compiled) -> list[str]:
    """What a configuration lets through that another does not, one line each. Empty where it only tightens."""
    return [
        *_find_loosened_cells(before, after),
        *_find_loosened_patterns(before, after),
        *_find_loosened_tools(before, after),
        *_find_loosened_services(before, after),
        *_find_loosened_hosts(before, after),
        *_find_loosened_rules(before, after),
        *(
            f"{key} loses {path}"
            for key in PATHS
            for path, _ in before["paths"][key]
            if path not in {entry for entry, _ in after["paths"][key]}
        ),
    ]


def _find_loosened_cells(before: Compiled, after: Compiled) -> Iterator[str]:
    old, new = Profile.from_json(before["profile"]), Profile.from_json(after["profile"])
    if old.name != new.name:
        yield f"profile: {old.name} becomes {new.name}"
    for row in dict.fromkeys((*new.table, *old.table)):
        for column in COLUMNS:
            was, now = old.cell(row, column), new.cell(row, column)
            if possible(now, frozenset()) < possible(was, frozenset()) or now[0] < was[0]:
                words = [" else ".join(verdict.word for verdict in cell) for cell in (was, now)]
                yield f"table: {row}, {column}: {words[0]} becomes {words[1]}"


def _find_loosened_patterns(before: Compiled, after: Compiled) -> Iterator[str]:
    old = [(step, written) for step, *_, written in before["patterns"]]
    new = [(step, written) for step, *_, written in after["patterns"]]
    for step, written in new:
        if step in _OPENING and (step, written) not in old:
            yield f"commands: {written} becomes {step}"
    for step, written in old:
        if step not in ("override_safe", "safe") and (step, written) not in new:
            yield f"commands: {written} is no longer {_NAMES.get(step, step)}"


def _find_loosened_tools(before: Compiled, after: Compiled) -> Iterator[str]:
    for key in ("tools", "mcp_tools"):
        old, new = before[key], after[key]
        for name, (category, _) in new.items():
            if category != _DEFAULT_CATEGORY and old.get(name, [""])[0] != category:
                yield f"{key}: {name} becomes {category}"
        for name, (category, _) in old.items():
            if name not in new and category != "safe":
                yield f"{key}: {name} is no longer {category}"
    default = after["scalars"].get("mcp_default", [_DEFAULT_CATEGORY])[0]
    if default != _DEFAULT_CATEGORY and default != before["scalars"].get("mcp_default", [""])[0]:
        yield f"mcp_default becomes {default}"


def _find_loosened_services(before: Compiled, after: Compiled) -> Iterator[str]:
    services = before["services"]
    for name, flags in after["services"].items():
        for flag, (value, _) in flags.items():
            old = services.get(name, {}).get(flag)
            was = old[0] if old is not None else _find_inherited(services, name, flag)
            if (value is False and was is not False) or (was == "forbidden" and value != "forbidden"):
                yield f"services: {name}: {flag} becomes {str(value).lower()}"


def _find_inherited(services: Mapping[str, Any], name: str, flag: str) -> Any:
    """What holds of a flag for all that a name means, until the name says something itself; ``None`` for nothing.

    A wild name wins over others that are wild or of servers. Nobody can count for what it then wins: what one of those
    forbids may be forbidden there, and nothing is ``False`` for all of it.
    """
    if not is_wild(name):
        return strictest_flags(services, name).get(flag, (None,))[0]
    meant = (flags[flag][0] for other, flags in services.items() if flag in flags and _may_be_of(other, name))
    return "forbidden" if "forbidden" in meant else None


def _may_be_of(declared: str, name: str) -> bool:
    """Whether a name may be one that a wild name means, or a server with such a tool."""
    return names_meet(name, declared) or names_meet(name, f"{declared}__*")


def _find_loosened_rules(before: Compiled, after: Compiled) -> Iterator[str]:
    """Rules about git: a layer's stand in the place of those below."""
    old, new = (compiled["scalars"].get("git", [{}])[0] for compiled in (before, after))
    for name, was in old.items():
        now = new.get(name)
        if now == was:
            continue
        if isinstance(was, list):
            gone = [branch for branch in was if branch not in (now or ())]
            yield from (f"git: {branch} is no longer protected" for branch in gone)
        elif not name.startswith("_") and _STRICTNESS.index(now or "allow") < _STRICTNESS.index(was):
            yield f"git: {name}: {was} becomes {now or 'allow'}"


def _find_loosened_hosts(before: Compiled, after: Compiled) -> Iterator[str]:
    old = {host: content for host, content, _ in before["trusted_domains"]}
    for host, content, _ in after["trusted_domains"]:
        if host not in old or content > old[host]:
            yield f"trusted_domains: {host}" + (", and what it returns" if content else "")
