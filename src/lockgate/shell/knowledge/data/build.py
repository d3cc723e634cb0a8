"""Checks the program knowledge and compiles it to the JSON that Lockgate loads.

Usage: ``python -m lockgate.shell.knowledge.data.build [--check | --stats]``. With ``--check`` nothing is written,
and the exit code says whether what is there is fresh; ``--stats`` counts what is known. ``docs/knowledge.md`` describes
the format.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from lockgate.shell.knowledge.lookup import SAME, SUFFIXES
from lockgate.shell.knowledge.options import HARMLESS
from lockgate.shell.state.findings import WORDS

FOLDER = Path(__file__).resolve().parent
LISTS = ("effects", "operands", "otherwise", "bare", "replaces_first", "replaces_last", "default", "help", "composes",
         "saves", "ends")  # fmt: skip
PLAIN = ("about", "style", "before_only", "stops", "runtime", "bundle", "stdin", "stdin_after", "prints", "faithful",
         "feeds", "keeps", "any_case", "recipes", "needs", "here", "hint")  # fmt: skip
FILES = frozenset({"read", "read-below", "read-but", "read-below-but", "look", "edit", "edit-below", "packed",
                     "paged", "source", "source-below", "move", "write"})  # fmt: skip
"""Roles of operands whose files are read or written."""


_NUMBERS = " ".join(f"-{digit}=#" for digit in range(10))
"""What ``-NUM`` stands for: a number as an option of its own (``head -20``)."""
_WRITTEN = {words: suffix for suffix, words in SUFFIXES.items()}
Families = Iterable[tuple[str, dict[str, Any], dict[str, Any]]]
"""Of each family its name, its programs as they are written, and what they come to."""


class KnowledgeError(Exception):
    """Knowledge that does not hold together: says where, and what is wrong."""


def compile_all() -> dict[str, str]:
    """The compiled files, by name."""
    schema = json.loads((FOLDER / "schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    index: dict[str, str] = {}
    files: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.stem == "tables":
            continue
        data = load(path)
        for error in validator.iter_errors(data):
            where = "/".join(map(str, error.absolute_path))
            raise KnowledgeError(f"{path.name}: {where}: {error.message}")
        if data["family"] != path.stem:
            raise KnowledgeError(f"{path.name}: the family is called {data['family']}")
        programs = family(path.name, data["programs"])
        for name in programs:
            if name in index:
                raise KnowledgeError(f"{path.name}: {name} is in the family {index[name]} already")
            index[name] = path.stem
        compact_rows = {name: pack_entry(item) if isinstance(item, dict) else item for name, item in programs.items()}
        files[f"{path.stem}.json"] = '{"programs":{\n' + rows(compact_rows) + "\n}}\n"
    files["index.json"] = "{\n" + rows(dict(sorted(index.items()))) + "\n}\n"
    files["tables.json"] = json.dumps(load(FOLDER / "tables.yaml"), separators=(",", ":"), sort_keys=True) + "\n"
    return files


def examples() -> list[tuple[str, str, str]]:
    """Every example of every program: file, command, effects."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.stem != "tables":
            for raw in load(path)["programs"].values():
                found += [(path.stem, command, kinds) for command, kinds in raw["examples"].items()]
    return found


class _Loader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """Refuses a key that stands twice, of which YAML would keep the last silently."""


def _construct_mapping(loader: Any, node: Any, deep: bool = True) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise KnowledgeError(f"line {key_node.start_mark.line + 1}: {key_node.value} is not text to YAML: quote it")
        if key in result:
            raise KnowledgeError(f"line {key_node.start_mark.line + 1}: {key} stands here twice")
        result[key] = loader.construct_object(value_node, deep=True)
    return result


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_mapping)


def load(path: Path) -> Any:
    """The content of a YAML file."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a subclass of the safe loader
    except (yaml.YAMLError, KnowledgeError) as error:
        raise KnowledgeError(f"{path.name}: {error}") from None


def rows(value: dict[str, Any]) -> str:
    """The inside of a JSON object with one key a line, which is how the loader finds a key without parsing all."""
    return ",\n".join(f"{json.dumps(key)}:{compact(item)}" for key, item in value.items())


def compact(value: Any) -> str:
    """JSON in one line."""
    return json.dumps(value, separators=(",", ":"))


def family(file: str, raw_programs: dict[str, Any]) -> dict[str, Any]:
    """All programs of one family by name; another name of a program is the first name as text."""
    result: dict[str, Any] = {}
    for names, raw in raw_programs.items():
        name, *same = names.split()
        if "like" in raw:
            if raw["like"] not in raw_programs:
                raise KnowledgeError(f"{file}: {name}: `like: {raw['like']}` is not in this family")
            inherited = {key: value for key, value in raw_programs[raw["like"]].items() if key != "also"}
            raw = {**inherited, **raw}
        for other in (name, *same, *raw.get("also", "").split()):
            if other in result:
                raise KnowledgeError(f"{file}: {other} stands there twice")
            result[other] = name
        result[name] = entry(f"{file}: {name}", name, raw)
        if list(result.values()).count(name):
            share(result[name])
    return result


def share(compiled_entry: dict[str, Any]) -> None:
    """Let a value that an option has for one of several programs count as an operand as well.

    What takes a value for one (``cut -c 1``) is a flag of another (``od -c FILE``), and the next word is its file.
    """
    if not FILES.intersection(role.removesuffix("...") for role in compiled_entry.get("operands", [])):
        return
    kept = compiled_entry.get("replaces_first", [])
    for name, meaning in compiled_entry.get("options", {}).items():
        if meaning == ["local", 1] and len(name) == 2 and name not in kept:
            meaning[0] = "either"


def entry(where: str, name: str, raw: dict[str, Any], above: frozenset[str] = frozenset()) -> dict[str, Any]:
    """One entry as the loader wants it; ``above`` are the options that it has from its parents."""
    result: dict[str, Any] = {"name": name, **{key: raw[key] for key in PLAIN if key in raw}}
    if "quiet" in raw:
        result["quiet"] = [pattern for item in raw["quiet"] for pattern in ([item] if isinstance(item, str) else item)]
    result |= {"answers": receipt(raw["answers"])} if "answers" in raw else {}
    for key in LISTS:
        if key in raw:
            result[key] = raw[key].split()
    if "options" in raw:
        result["options"] = options(where, raw["options"], keyed=raw.get("style") == "dd")
    if "when" in raw:
        result["when"] = changes(where, raw["when"], above.union(result.get("options", {})))
    if "commands" in raw:
        given = frozenset() if raw.get("before_only") else above.union(result.get("options", {}))
        result["commands"] = commands(where, name, raw["commands"], given)
        for group in raw.get("groups", "").split():
            if result["commands"].setdefault(group, SAME) != SAME:
                raise KnowledgeError(f"{where}: {group} is a group and a subcommand")
    if "otherwise" in raw and "commands" not in raw:
        raise KnowledgeError(f"{where}: `otherwise` without `commands` says nothing: use `effects`")
    check(where, result)
    return result


def changes(where: str, raw: list[dict[str, Any]], known: frozenset[str]) -> list[dict[str, Any]]:
    """How an entry changes where some options are given; ``known`` are the options that there are."""
    for change in raw:
        named = {name.partition("=")[0] for name in change["options"].split()}
        if missing := named - known:
            raise KnowledgeError(f"{where}: `when` names options that there are not: {' '.join(sorted(missing))}")
    return [
        {
            "options": change["options"].split(),
            "then": {key: value if key in PLAIN else value.split() for key, value in change["then"].items()},
        }
        for change in raw
    ]


def receipt(raw: dict[str, Any]) -> dict[str, Any]:
    """What has to be known of an answer; where it is printed, and the examples, stay in the table."""
    return {"to": raw["to"], "unless": raw.get("unless", "").split(), "fails": raw["fails"]}


def options(where: str, raw: dict[str, str] | list[dict[str, str]], *, keyed: bool) -> dict[str, list[Any]]:
    """Option names to role and number of words; several tables are one."""
    result: dict[str, list[Any]] = {}
    tables = raw if isinstance(raw, list) else [raw]
    for role, names in (row for table in tables for row in table.items()):
        for written in " ".join(_NUMBERS if word == "-NUM" else word for word in names.split()).split():
            name, words = written, 0
            if written.endswith("==") and not keyed:
                name, words = written[:-2], 4
            elif written.endswith("=~"):
                name, words = written[:-2], 2
            elif written.endswith("=#"):
                name, words = written[:-2], 5
            elif written.endswith(";"):
                name, words = written[:-1], 3
            elif written.endswith("="):
                name, words = written if keyed else written[:-1], 1
            meaning = ["local" if role == "text" else role, words]
            if result.setdefault(name, meaning) != meaning:
                raise KnowledgeError(f"{where}: the option {name} has two meanings")
    return result


def commands(where: str, name: str, raw: dict[str, Any], above: frozenset[str]) -> dict[str, Any]:
    """Subcommands by name; another name is the first name as text."""
    result: dict[str, Any] = {}
    for names, below in raw.items():
        first, *others = names.split()
        for one in (first, *others):
            if one in result:
                raise KnowledgeError(f"{where}: the subcommand {one} stands there twice")
            result[one] = first
        result[first] = entry(f"{where} {first}", f"{name}/{first}", below, above)
        if others:
            share(result[first])
    return result


def check(where: str, compiled_entry: dict[str, Any]) -> None:
    """Every effect is one that there is. What plays the roles lies above the knowledge: see ``find_unknown_roles``."""
    changes = [change["then"] for change in compiled_entry.get("when", [])]
    for place in (compiled_entry, *changes):
        for key in ("effects", "otherwise", "bare"):
            for word in place.get(key, []):
                if word not in WORDS:
                    raise KnowledgeError(f"{where}: there is no effect {word}")
        if "operands" in place:
            place["operands"] = [role.replace("text", "local") for role in place["operands"]]


def roles_in(compiled_entry: dict[str, Any]) -> set[str]:
    """All roles that an entry and its subcommands give to words."""
    below = [item for item in compiled_entry.get("commands", {}).values() if isinstance(item, dict)]
    found = {role for role, _ in compiled_entry.get("options", {}).values()}
    for place in (compiled_entry, *(change["then"] for change in compiled_entry.get("when", []))):
        found.update(role.removesuffix("...") for role in place.get("operands", []))
    return found.union(*map(roles_in, below))


def find_unknown_roles(known: Set[str]) -> list[str]:
    """What is wrong where an entry gives a word a role that is not among the known ones, by file and entry."""
    known = known | HARMLESS | WORDS.keys() | {"text", "assignments"}
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.stem != "tables":
            entries = family(path.name, load(path)["programs"])
            rows = ((name, row) for name, row in entries.items() if isinstance(row, dict))
            found += [f"{path.name}: {name}: no role `{role}`" for name, row in rows for role in roles_in(row) - known]
    return sorted(found)


def pack_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry whose harmless options are one text, as `lockgate.shell.knowledge.lookup` reads it back."""
    result = dict(entry)
    if "commands" in entry:
        result["commands"] = {
            name: pack_entry(below) if isinstance(below, dict) else below for name, below in entry["commands"].items()
        }
    harmless = {name: words for name, (role, words) in entry.get("options", {}).items() if _fits(name, role, words)}
    if harmless:
        result["local"] = " ".join(name + _WRITTEN[words] for name, words in harmless.items())
        result["options"] = {name: meaning for name, meaning in entry["options"].items() if name not in harmless}
        if not result["options"]:
            del result["options"]
    return result


def _fits(name: str, role: str, words: int) -> bool:
    return role == "local" and words in _WRITTEN and "=" not in name and " " not in name


def statistics(families: Families) -> list[tuple[str, int, int, int, int, int, int]]:
    """A row a family: its name, names of programs, entries, those with a grammar, subcommands, options and examples.

    An entry has a grammar where its options or subcommands are told apart, or an operand has a role.
    """
    table = []
    for name, raw, known in families:
        entries = [item for item in known.values() if isinstance(item, dict)]
        counts = [_count(item) for item in entries]
        told = sum(
            any(count) or not {"local", "local..."}.issuperset(item.get("operands", ()))
            for item, count in zip(entries, counts, strict=True)
        )
        commands, options = (sum(count[at] for count in counts) for at in (0, 1))
        examples = sum(len(item["examples"]) for item in raw.values())
        table.append((name, len(known), len(entries), told, commands, options, examples))
    return table


def _count(item: dict[str, Any]) -> tuple[int, int]:
    """How many subcommands and options an entry has, with all below it."""
    commands, options = 0, len(item.get("options", {}))
    for below in item.get("commands", {}).values():
        commands += 1
        if isinstance(below, dict):
            inner = _count(below)
            commands, options = commands + inner[0], options + inner[1]
    return commands, options


def show(families: Families) -> None:
    """Print the table with its sums."""
    table = statistics(families)
    total = ("total", *(sum(row[column] for row in table) for column in range(1, 7)))  # type: ignore[misc]
    heading = ("family", "programs", "entries", "with grammar", "subcommands", "options", "examples")
    for row in (heading, *table, total):
        sys.stdout.write(f"{row[0]:14}" + "".join(f"{cell:>14}" for cell in row[1:]) + "\n")


def main(arguments: list[str]) -> int:
    """Compile, or with ``--check`` compare, or with ``--stats`` count."""
    if "--stats" in arguments:
        paths = (path for path in sorted(FOLDER.glob("*.yaml")) if path.stem != "tables")
        written = ((path, load(path)["programs"]) for path in paths)
        show((path.stem, raw, family(path.name, raw)) for path, raw in written)
        return 0
    try:
        files = compile_all()
    except KnowledgeError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    stale = [name for name, content in files.items() if not _is_same(FOLDER / name, content)]
    stale += [path.name for path in FOLDER.glob("*.json") if path.name not in files and path.name != "schema.json"]
    if "--check" in arguments:
        for name in stale:
            sys.stderr.write(f"{name} is stale: run `make knowledge`\n")
        return 1 if stale else 0
    for name in stale:
        if name in files:
            (FOLDER / name).write_text(files[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


def _is_same(path: Path, content: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == content


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
