"""Write the pages of reference that are made from the code: `make reference`, or with ``--check`` only compare.

Each page is a function below. A test runs the check, so that no page tells what the code no longer says.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import yaml

from lockgate.cli.main import cli
from lockgate.core.model import EffectKind, LabelState
from lockgate.policy.profiles import read_shipped_profiles

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
PACKAGE = ROOT / "src" / "lockgate"
NOTE = "Made from the code by `make reference`."


def cell(text: str) -> str:
    """A text that stands in one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ------------------------------------------------------------ the command line
def commands(command: click.Command, words: str) -> Iterator[tuple[str, click.Command, click.Context]]:
    """A command and all below it, in the order of the alphabet."""
    context = click.Context(command, info_name=words)
    yield words, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from commands(below, f"{words} {name}")


def command_line() -> str:
    """Each command of `lockgate`, with its arguments and options."""
    parts = ["# Command line", f"{NOTE} Each command also has `--help`."]
    for words, command, context in commands(cli, "lockgate"):
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"## {words}")
        parts.append(inspect.cleandoc(command.help or command.short_help or "").replace("<", "&lt;"))
        parts.append(f"`{words} {usage}`")
        told = [found for option in command.params if (found := option.get_help_record(context)) is not None]
        rows = [
            (f"`{cell(names)}`", cell(help_text)) for names, help_text in told if help_text and "--help" not in names
        ]
        if rows:
            parts.append(table(("option", "what it does"), rows))
    return "\n\n".join(parts)


# ------------------------------------------------------------ the configuration
def configuration() -> str:
    """Each key of `lockgate.yaml`, from its schema."""
    schema = json.loads((PACKAGE / "policy" / "schema" / "lockgate.schema.json").read_text("utf-8"))
    parts = [
        "# Keys of lockgate.yaml",
        f"{NOTE} [Configuration](../configuration.md) explains them, with examples.",
        table(("key", "type", "what it says"), keys_of(schema, schema, "")),
    ]
    return "\n\n".join(parts)


def keys_of(whole: dict[str, Any], schema: dict[str, Any], above: str) -> Iterator[tuple[str, str, str]]:
    """The keys of an object, and of the objects in it."""
    for name, given in resolved(whole, schema).get("properties", {}).items():
        value = resolved(whole, given)
        key = f"{above}{name}"
        yield f"`{key}`", cell(type_of(whole, value)), cell(value.get("description", ""))
        yield from keys_of(whole, value, f"{key}.")


def resolved(whole: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """What a schema says, with what it refers to."""
    while "$ref" in schema:
        found: Any = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def type_of(whole: dict[str, Any], schema: dict[str, Any]) -> str:
    """The type of a value in a word or two."""
    if {"allow", "deny"} <= set(schema.get("enum", ())):
        return "verdict"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema or "oneOf" in schema:
        types = (type_of(whole, resolved(whole, one)) for one in schema.get("anyOf", schema.get("oneOf")))
        return " or ".join(dict.fromkeys(types))
    kind = schema.get("type", "value")
    if kind == "array":
        return f"list of {type_of(whole, resolved(whole, schema.get('items', {})))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


# ------------------------------------------------------------ effects, profiles
def effects() -> str:
    """Each kind of effect and each variant, as the model describes them."""
    parts = [
        "# Effects",
        f"{NOTE} [Concepts](../concepts.md) has examples, [profiles](profiles.md) what each comes to.",
    ]
    module = ast.parse((PACKAGE / "core" / "model.py").read_text("utf-8"))
    for name, heading in (("EffectKind", "Kinds"), ("Variant", "Variants")):
        parts += [f"## {heading}", table(("name", "means"), members(module, name))]
    assert all(f"`{kind.value}`" in parts[3] for kind in EffectKind)
    return "\n\n".join(parts)


def members(module: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    """The members of an enumeration, with the text below each."""
    (found,) = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)
    for node, after in zip(found.body, [*found.body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value:
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            yield f"`{node.value.value}`", cell(str(text))


def profiles() -> str:
    """The table of each profile."""
    parts = ["# Profiles", f"{NOTE} [Profiles](../profiles.md) says which is for whom."]
    for name, profile in read_shipped_profiles().items():
        rows = (
            (
                f"`{row}`",
                *(", else ".join(verdict.word for verdict in profile.cell(row, column)) for column in LabelState),
            )
            for row in profile.table
        )
        parts += [f"## {name}", table(("row", *(column.name.lower() for column in LabelState)), rows)]
    return "\n\n".join(parts)


# ------------------------------------------------------------ rules
STARTS = {
    "address": "an address that is read: `fetch` for what the fetch sends, `content` for what it brings in",
    "analysis": "the analysis itself failed, so the call counts as one that can do anything",
    "codex": "a command of Codex that stays open",
    "escape": "a message or a brief that asks for more than it may",
    "file": "a file into which an agent wrote what strangers wrote",
    "mcp": "a tool of an MCP server that is known or was asked about",
    "mention": "something that a prompt mentions with `@`",
    "place": "a path, by the table below",
    "program": "a program, by its table: `program:git/push` is the subcommand `push` of `git`",
    "prompt": "text that came with a prompt from elsewhere",
    "registry": "a question to a registry about a package of the project",
    "rules": "a rule set, such as `git`",
    "script": "a file of the project that the call runs",
    "service": "a declared service, by its flag",
    "shell": "something in the shell text that is found without a program's table",
    "skill": "the text of a skill",
    "tool": "a tool other than the shell",
    "variable": "a variable that holds a secret",
}
"""How the ids of rules begin, and what such a rule is about."""
_OTHER = frozenset(
    {
        "about",
        "example",
        "gate",
        "lockbox",
        "lockgate",
        "patterns",
        "pause",
        "retention",
        "rollback",
        "security",
        "upgrade",
    }
)
"""Texts of the same shape that are no rules."""


def rules() -> str:
    """Each rule that has an id in the code, and each place."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if re.fullmatch(r"[a-z]+:[a-z][a-z0-9/-]*", text):
                found.setdefault(text.partition(":")[0], set()).add(text)
    if unknown := found.keys() - STARTS.keys() - _OTHER:
        raise SystemExit(f"reference: say in STARTS what these rules are about: {', '.join(sorted(unknown))}")
    rows = (
        (f"`{start}:`", meaning, ", ".join(f"`{rule}`" for rule in sorted(found.get(start, ())) if rule[-1] != "/"))
        for start, meaning in STARTS.items()
    )
    places = yaml.safe_load((PACKAGE / "resources" / "data" / "places.yaml").read_text("utf-8"))
    paths = ((f"`place:{one['name']}`", one["because"], code(one["match"])) for one in places)
    parts = [
        "# Rules",
        f"{NOTE} Each effect names the rule that found it, and `lockgate explain` shows it. Ids are stable.",
        "## How ids begin",
        table(("begins with", "about", "ids that stand in the code"), rows),
        "## Places",
        "Touching one of these paths has an effect. `**` is any number of names.",
        table(("rule", "because", "paths"), ((rule, cell(because), shown) for rule, because, shown in paths)),
    ]
    return "\n\n".join(parts)


def code(texts: Iterable[str]) -> str:
    """Texts as code, in one cell."""
    return " ".join(f"`{text}`".replace("|", "\\|") for text in texts)


def patterns() -> str:
    """Each rule of the shipped pattern library."""
    parts = [
        "# Rules of the pattern library",
        f"{NOTE} [Patterns](../patterns.md) explains groups, modes and severities.",
    ]
    for file in sorted((PACKAGE / "patterns" / "library").glob("*.yaml")):
        for side, groups in yaml.safe_load(file.read_text("utf-8"))["patterns"].items():
            for name, group in groups.items():
                rows = [
                    (
                        f"`{rule.get('id', rule.get('type'))}`",
                        rule.get("severity", "high"),
                        cell(rule.get("provider", "")),
                    )
                    for rule in group.get("rules", [])
                ]
                if rows:
                    # No table: the library itself would take a name such as `npm_access_token` for a column's head.
                    listed = "\n".join(f"* {name} ({' for '.join(filter(None, about))})" for name, *about in rows)
                    parts += [f"## {name} ({side}, {file.stem})", listed]
    return "\n\n".join(parts)


# ------------------------------------------------------------ the HTTP API
def http_api() -> str:
    """Each route of the HTTP API, from its contract."""
    contract = json.loads((ROOT / "schema" / "lockgate-api.json").read_text("utf-8"))
    parts = ["# Routes of the HTTP API", f"{NOTE} [HTTP API](../api.md) explains how they are used."]
    rows = []
    for path, methods in contract["paths"].items():
        for method, route in methods.items():
            taken = ", ".join(f"`{given['name']}`" for given in route.get("parameters", []))
            gives = next(
                iter(route["responses"]["200" if "200" in route["responses"] else "204"].get("content", {})), ""
            )
            rows.append((f"`{method.upper()} {path}`", taken, gives, cell(route.get("description", ""))))
    return "\n\n".join([*parts, table(("route", "parameters", "answers with", "what"), rows)])


PAGES = {
    "cli.md": command_line,
    "configuration.md": configuration,
    "effects.md": effects,
    "profiles.md": profiles,
    "http-api.md": http_api,
    "patterns.md": patterns,
    "rules.md": rules,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are stale."""
    made = {FOLDER / name: page().rstrip() + "\n" for name, page in PAGES.items()}
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
    stale += [path for path in FOLDER.glob("*.md") if path not in made]
    for path in stale:
        if "--check" in arguments:
            sys.stderr.write(f"{path.relative_to(ROOT)} is stale: run `make reference`\n")
        elif path in made:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path], encoding="utf-8")
        else:
            path.unlink()
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
