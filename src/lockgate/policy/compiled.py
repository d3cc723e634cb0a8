"""Makes a policy from a compiled configuration: its profile, and the look-ups of the analysis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from lockgate.core.model import Category, tool_names
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.policy.profiles import ALL, Profile
from lockgate.resources.host_view import EVERY, AnalysisRules, CategoryRule, Service, TrustedDomain

if TYPE_CHECKING:
    from typing import Any

    _Flags = dict[str, tuple[Any, str, str]]
    """Flag to its value, the layer that says it, and the name under which that declares it."""

_MCP = "mcp__"
_MOST_SERVERS = 8
"""Servers that the name of one MCP tool may stand for, at most; of more, any."""
_SERVER_GLOB, _SERVER, _GLOB, _EXACT = range(4)
"""How exactly a declared name fits a service, from the least to the most."""
_SEVERITY = {"safe": 0, "unsafe": 1, "acting": 2, "unsafe_acting": 3}
# A default speaks only about tools of which nothing is known, which count as both source and sink. It may say that
# they are not one of the two; that they act says nothing about what they return.
_DEFAULT_OVERRULES: dict[str, frozenset[Category | None]] = {
    "safe": frozenset({Category.UNSAFE_ACTING, None}),
    "unsafe": frozenset({Category.UNSAFE_ACTING, None}),
}
_FLAGS = ("public_source", "secret_data", "public_sink", "dangerous_writes")


class Policy(Record):
    """A table, and a person's rules for the analysis."""

    profile: Profile
    rules: AnalysisRules


def policy(compiled: Mapping[str, Any]) -> Policy:
    """Read a compiled configuration (``lockgate.policy.lockbox.merging.merge``)."""
    paths = {key: tuple(entry for entry, _ in entries) for key, entries in compiled["paths"].items()}
    default = compiled["scalars"].get("mcp_default")
    tables = (compiled["tools"], compiled["mcp_tools"])
    projects = frozenset(compiled["projects"])
    rules = AnalysisRules(
        trusted_domains=tuple(
            TrustedDomain(host, content, layer not in projects) for host, content, layer in compiled["trusted_domains"]
        ),
        protected_paths=(*paths["protected_paths"], *_plugin_files(compiled["scalars"])),
        secret_paths=paths["secret_paths"],
        persistent_paths=paths["persistent_paths"],
    )
    # Where nothing is said, the rules keep their empty look-ups, which cost nothing.
    if compiled["patterns"]:
        from lockgate.policy.lockbox.commands import CommandRules, Pattern

        patterns = [Pattern(*entry[:4]) for entry in compiled["patterns"]]
        rules = rules._replace(command_category=CommandRules(patterns))
    if default or any(tables):
        rules = rules._replace(tool_category=partial(tool_category, tables, default, projects=projects))
    if compiled["services"]:
        rules = rules._replace(service=partial(service, compiled["services"], projects=projects))
    profile = Profile.from_json(compiled["profile"])
    return Policy(profile, rules._replace(unknown_has_all=profile.unknown_services == ALL))


def _plugin_files(scalars: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """Files whose code the gate runs: whoever can write them can write the gate."""
    named, _ = scalars.get("plugins", ((), ""))
    return tuple(name for name in named if "/" in name)


# ---------------------------------------------------------------- tools


def tool_category(
    tables: Sequence[Mapping[str, Sequence[str]]],
    default: Sequence[str] | None,
    tool: str,
    projects: frozenset[str] = frozenset(),
) -> CategoryRule | None:
    """The category that a configuration gives to a tool: an exact name wins, then the longest with wildcards.

    Args:
        tables: ``tools`` and ``mcp_tools``: name to category and rule.
        default: ``mcp_default`` and its layer, if any layer sets it.
        tool: The tool's name.
        projects: The names of layers that lie in a project.
    """
    names = tool_names(tool)
    for name in names:
        for table in tables:
            if name in table:
                category, rule = table[name]
                return CategoryRule(Category(category), rule, EVERY, _is_vouched(rule, projects))
    found = [
        (len(name.replace("*", "").replace("?", "")), _SEVERITY[category], category, rule)
        for table in tables
        for name, (category, rule) in table.items()
        if any(_matches(name, candidate) for candidate in names)
    ]
    if found:
        *_, category, rule = max(found)
        return CategoryRule(Category(category), rule, EVERY, _is_vouched(rule, projects))
    if default and tool.startswith("mcp__"):
        category, layer = default
        return CategoryRule(Category(category), f"{layer}:mcp_default", _DEFAULT_OVERRULES.get(category, frozenset()))
    return None


def _is_vouched(rule: str, projects: frozenset[str]) -> bool:
    """Whether a rule, which begins with the name of its layer, is not a project's."""
    return not any(rule.startswith(f"{layer}:") for layer in projects)


def _matches(wild: str, name: str) -> bool:
    """Whether a pattern (``*`` any characters, ``?`` one) with a wildcard matches a name.

    It takes at most as many steps as the product of the two lengths.
    """
    if "*" not in wild and "?" not in wild:
        return False
    at = place = start = 0
    star = -1
    while place < len(name):
        if at < len(wild) and wild[at] == "*":
            star, start, at = at, place, at + 1
        elif at < len(wild) and wild[at] in ("?", name[place]):
            at, place = at + 1, place + 1
        elif star >= 0:
            # The last star takes one character more.
            start += 1
            at, place = star + 1, start
        else:
            return False
    return wild[at:].strip("*") == ""


# ---------------------------------------------------------------- services


def service(
    services: Mapping[str, Mapping[str, Sequence[Any]]], name: str, projects: frozenset[str] = frozenset()
) -> Service | None:
    """What a configuration declares about a service.

    Each flag is that of the most exact name that has it: the tool, then a glob of tools, then the tool's MCP server,
    then a glob of servers. Among globs the one with most other characters wins. A host has what ``*.domain`` has.

    Args:
        services: By name: flag to value and layer.
        name: An MCP tool, an MCP server (``mcp__server``), a tool, or a host in lower case.
        projects: The names of layers that lie in a project.
    """
    said = flags_of(services, name)
    if not said:
        return None
    rules = {f"{layer}:services.{declared}" for _, layer, declared in said.values()}
    flags = {flag: bool(said[flag][0]) if flag in said else None for flag in _FLAGS}
    forbidden = any(value == "forbidden" for value, *_ in said.values())
    vouched = projects.isdisjoint(layer for _, layer, _ in said.values())
    return Service(**flags, forbidden=forbidden, rule=", ".join(sorted(rules)), vouched=vouched)


def flags_of(services: Mapping[str, Mapping[str, Sequence[Any]]], name: str) -> dict[str, tuple[Any, str, str]]:
    """The flags that hold for a service, each with its layer and the name under which it is declared.

    Where a tool's name does not tell where that of its server ends (``mcp__a__b__c``), each flag is the strictest of
    those that it may have; what is not declared for a server is stricter than ``false``.
    """
    readings = [_flags_with(services, name, server) for server in _servers(name)]
    return readings[0] if len(readings) == 1 else _strictest(readings)


def strictest_flags(services: Mapping[str, Mapping[str, Sequence[Any]]], name: str) -> dict[str, tuple[Any, str, str]]:
    """As :func:`flags_of`, the strictest of all meanings of a name: ``mcp__a__b`` is a tool, or a server with tools."""
    said = flags_of(services, name)
    if not name.startswith(_MCP):
        return said
    of_each_tool = {glob: flags for glob, flags in services.items() if glob == name or glob.endswith("*")}
    return _strictest((said, _flags_with(of_each_tool, name, "")))


def _flags_with(services: Mapping[str, Mapping[str, Sequence[Any]]], name: str, server: str) -> _Flags:
    flags: _Flags = {}
    for *_, declared in sorted(_rank(services, name, server)):
        flags.update({flag: (value, layer, declared) for flag, (value, layer) in services[declared].items()})
    return flags


def _strictest(readings: Sequence[_Flags]) -> _Flags:
    flags: _Flags = {}
    for flag in dict.fromkeys(flag for reading in readings for flag in reading):
        strictest = max((reading.get(flag) for reading in readings), key=_strictness)
        if strictest is not None:
            flags[flag] = strictest
    return flags


def _strictness(flags: tuple[Any, str, str] | None) -> int:
    if flags is None:
        return 1
    return 3 if flags[0] == "forbidden" else 2 * bool(flags[0])


def _servers(name: str) -> list[str]:
    """What the server of an MCP tool may be called; one empty text where it has none, or may be any of too many."""
    if not name.startswith(_MCP):
        return [""]
    ends = [at for at in range(len(_MCP) + 1, len(name) - 1) if name.startswith("__", at)]
    found = [name[:at] for at in ends[:_MOST_SERVERS]] or [""]
    return found if len(ends) <= _MOST_SERVERS else [*found, ""]


def _rank(services: Mapping[str, Any], name: str, server: str) -> Iterator[tuple[int, int, str]]:
    """The declared names that speak about a service, each with how exactly it does."""
    names = tool_names(name)
    for declared in services:
        letters = len(declared.replace("*", "").replace("?", ""))
        if declared in names:
            yield _EXACT, letters, declared
        elif declared == server:
            yield _SERVER, letters, declared
        elif any(_matches(declared, each) for each in names):
            # What already fits the server's name says nothing about which tool of it.
            yield _SERVER_GLOB if server and _matches(declared, server) else _GLOB, letters, declared
