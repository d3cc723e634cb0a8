# ruff: noqa: E501 - a row of a table is one line
"""The schema is enforced, and says what is wrong in a person's words."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from lockgate.policy import build as compiler
from lockgate.policy.profiles import FIXED_ROWS, read_shipped_profiles
from lockgate.policy.validation import LOCKBOX_KEYS, parse, schema_text

ROOT = Path(__file__).parents[2]
CONFIGURATION = sorted((ROOT / "docs").glob("configuration*.md"))
"""The pages of the keys of lockgate.yaml."""


def problems(text: str, file: str = "lockgate.yaml") -> list[str]:
    return [str(problem) for problem in parse(text.encode(), file).problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("profil: observe", "1: profil: unknown key; did you mean `profile`?"),
        ("zzz: 1", "1: zzz: unknown key"),
        ("profile: observ", '1: profile: must be one of quarantine, quarantine-strict, cascade, trifecta, observe, not `"observ"`; did you mean `observe`?'),
        ("profile:", "1: profile: must be one of quarantine, quarantine-strict, cascade, trifecta, observe, not `null`"),
        ("- a", "1: must be a mapping, not a list"),
        ("bash_patterns: [x]", "1: bash_patterns: must be a mapping, not a list"),
        ("bash_patterns: {save: []}", "1: bash_patterns.save: unknown key; did you mean `safe`?"),
        ("bash_patterns:\n  safe: ^git", "2: bash_patterns.safe: must be a list, not text"),
        ("bash_patterns:\n  safe:\n  - a\n  - 3", "4: bash_patterns.safe[1]: must be text, not the number 3"),
        ("override_safe: ['']", "1: override_safe[0]: must not be empty"),
        ("bash_patterns: {acting: [ok, '(x']}", "1: bash_patterns.acting[1]: not a regular expression (JavaScript, no flags): missing ) at position 2"),
        ("override_safe: ['(?i)x']", "1: override_safe[0]: not a regular expression (JavaScript, no flags): a group that JavaScript does not have, at 0"),
        ("tools: {Read: save}", '1: tools.Read: must be one of safe, unsafe, acting, unsafe_acting, not `"save"`; did you mean `safe`?'),
        ("tools: {safe: Read}", "1: tools.safe: must be a list, not text"),
        ("tools: {safe: ['a b']}", "1: tools.safe[0]: must be a tool's name, with * and ? as wildcards, not `\"a b\"`"),
        ("tools: {safe: [Bash]}", "1: tools.safe[0]: Bash is decided by its commands: use bash_patterns"),
        ("tools: {Bash: acting}", "1: tools.Bash: Bash is decided by its commands: use bash_patterns"),
        ("mcp_tools: {Read: safe}", "1: mcp_tools.Read: an MCP tool's name begins with mcp__; other tools stand in tools"),
        ("mcp_default: allow", '1: mcp_default: must be one of safe, unsafe, acting, unsafe_acting, not `"allow"`'),
        ("table: {egres: deny}", "1: table.egres: unknown key; did you mean `egress`?"),
        ("table: {tamper_self: allow}", "1: table.tamper_self: unknown key; did you mean `tamper`?"),
        ("table: {local: deny}", "1: table.local: unknown key"),
        ("table: {egress: denied}", '1: table.egress: must be a verdict, a list of verdicts from lenient to strict, or one of these for clean, untrusted, secret or both, not `"denied"`'),
        ("table: {egress: {tainted: deny}}", "1: table.egress.tainted: unknown key"),
        ("table: {egress: {clean: denied}}", '1: table.egress.clean: must be a verdict (allow, contain, judge, ask, deny) or a list of verdicts from lenient to strict, not `"denied"`'),
        ("table: {egress: [deny, ask]}", "1: table.egress: a chain goes from lenient to strict: allow < contain < judge < ask < deny"),
        ("table: {execute: {both: contain}}", "1: table.execute.both: a chain ends in allow, ask or deny, because not every host can contain"),
        ("trusted_domains: ['https://x.org']", '1: trusted_domains[0]: must be a host such as example.com or *.example.com, a network such as 10.0.0.0/8, or {host: example.com, content: trusted}, not `"https://x.org"`'),
        ("trusted_domains: ['*.com']", '1: trusted_domains[0]: must be a host such as example.com or *.example.com, a network such as 10.0.0.0/8, or {host: example.com, content: trusted}, not `"*.com"`'),
        ("trusted_domains: ['1.0.0.0/0']", '1: trusted_domains[0]: must be a host such as example.com or *.example.com, a network such as 10.0.0.0/8, or {host: example.com, content: trusted}, not `"1.0.0.0/0"`'),
        ("trusted_domains: [{host: X.org}]", '1: trusted_domains[0].host: must be a host in lower case, without scheme, port and path: example.com, or *.example.com; or a network: 10.0.0.0/8, [fd00::/8], not `"X.org"`'),
        ("trusted_domains: [{host: x.org, contents: trusted}]", "1: trusted_domains[0].contents: unknown key; did you mean `content`?"),
        ("trusted_domains: [{content: trusted}]", "1: trusted_domains[0]: must be a host such as example.com or *.example.com, a network such as 10.0.0.0/8, or {host: example.com, content: trusted}, not a mapping"),
        ("protected_paths: ['']", '1: protected_paths[0]: must be a path; * and ? stay within one name, ** is any number of names, not `""`'),
        ("services: {Bash: {public_sink: false}}", "1: services.Bash: Bash is decided by its commands: use bash_patterns"),
        ("services: {x: {public_sinc: false}}", "1: services.x.public_sinc: unknown key; did you mean `public_sink`?"),
        ("services: {x: {public_sink: maybe}}", '1: services.x.public_sink: must be one of true, false, forbidden, not `"maybe"`'),
        ('trusted_domains: ["example.com\\n"]', '1: trusted_domains[0]: must be a host such as example.com or *.example.com, a network such as 10.0.0.0/8, or {host: example.com, content: trusted}, not `"example.com\\n"`'),
        ("deadline_seconds: 0", "1: deadline_seconds: must be at least 0.05, not `0`"),
        ("deadline_seconds: 1000", "1: deadline_seconds: must be at most 60, not `1000`"),
        ("deadline_seconds: fast", "1: deadline_seconds: must be a number, not text"),
        ("retention_days: 1.5", "1: retention_days: must be a whole number, not the number 1.5"),
        ("strict: 1", "1: strict: must be true or false, not the number 1"),
        ('"x\\e[31m": 1', "1: x\\e[31m: unknown key"),
    ],
)  # fmt: skip
def test_a_problem(text: str, expected: str) -> None:
    assert problems(text) == [f"lockgate.yaml:{expected}"]


def test_all_problems_are_said_in_the_order_of_the_lines() -> None:
    text = "strict: 1\nprofil: x\nbash_patterns:\n  safe: 1\n  acting: ['a', 2]\n"
    assert [problem.split(":")[1] for problem in problems(text)] == ["1", "2", "4", "5"]


@pytest.mark.parametrize("key", ["profile", "table", "trusted_domains", "services", "strict", "deadline_seconds"])
def test_what_is_ours_is_not_in_lockboxs_files(key: str) -> None:
    assert problems(json.dumps({key: None}), "/home/u/.claude/lockbox.json")[0].startswith(
        f"/home/u/.claude/lockbox.json:1: {key}: unknown key"
    )


def test_a_problem_in_json_names_the_line() -> None:
    text = '{\n  "bash_patterns": {\n    "safe": ["a",\n      "("]\n  }\n}\n'
    assert problems(text, "lockbox.json") == [
        "lockbox.json:4: bash_patterns.safe[1]: not a regular expression (JavaScript, no flags): "
        "missing ) at position 1",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "_comment: anything\nbash_patterns: {_why: x, safe: []}\ntools: {_x: 1}\nmcp_tools: {_x: 1}",
        "$schema: https://example.com/x.json",
        "table: {egress: ask, execute: [contain, judge, ask], persist: {both: [ask, deny], clean: allow}}",
        "trusted_domains: [localhost, example.com, '*.example.com', '!example.org', '[::1]', 10.0.0.1, {host: a.b, content: untrusted}]",
        "tools: {safe: [Read, '!Write', 'Task*'], WebFetch: unsafe}",
        "services: {mcp__x: {public_source: true, dangerous_writes: forbidden}}",
        "protected_paths: [infra/**, ~/x, '!y', '*.pem']",
        "bash_patterns: {safe: ['!^(rm|mv|cp|mkdir)\\s', '!(']}",
    ],
)
def test_what_is_valid(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize("name", ["lockgate", "lockbox"])
def test_a_schema_is_a_schema(name: str) -> None:
    schema = json.loads(schema_text(name))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert all("description" in value for value in schema["properties"].values())


def test_lockboxs_schema_has_lockboxs_keys() -> None:
    assert set(json.loads(schema_text("lockbox"))["properties"]) == {"$schema", *LOCKBOX_KEYS}


def test_the_schema_has_the_profiles_and_their_rows() -> None:
    properties = json.loads(schema_text("lockgate"))["properties"]
    assert set(properties["profile"]["enum"]) == set(read_shipped_profiles())
    rows = {row for profile in read_shipped_profiles().values() for row in profile.table}
    assert set(properties["table"]["properties"]) == rows - FIXED_ROWS


def test_what_is_derived_is_fresh() -> None:
    for path, text in compiler.derive_files(compiler.FOLDER).items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is stale: run `python -m lockgate.policy.build`"


def test_the_examples_are_valid_and_show_every_key() -> None:
    keys: dict[str, set[str]] = {}
    for name in ("lockgate.yaml", "lockbox.json"):
        parsed = parse((ROOT / "examples" / name).read_bytes(), name)
        assert parsed.problems == ()
        assert parsed.value is not None
        keys[name] = set(parsed.value)
    assert keys["lockgate.yaml"] - {"_comment"} == set(json.loads(schema_text("lockgate"))["properties"]) - {"$schema"}
    assert keys["lockbox.json"] >= set(LOCKBOX_KEYS)


def test_the_documentation_names_every_key() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in CONFIGURATION)
    schema = json.loads(schema_text("lockgate"))
    names = {*schema["properties"], *schema["properties"]["bash_patterns"]["properties"]}
    names |= set(schema["properties"]["services"]["additionalProperties"]["properties"])
    names |= set(schema["properties"]["table"]["properties"]) | set(read_shipped_profiles())
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_the_snippets_of_the_documentation_are_valid() -> None:
    found = 0
    for page in (*CONFIGURATION, ROOT / "docs" / "lockbox-compatibility.md"):
        fence = page.read_text(encoding="utf-8").split("```")
        for block in fence[1::2]:
            language, _, body = block.partition("\n")
            if language in ("yaml", "json"):
                found += 1
                assert parse(body.encode(), f"x.{language}").problems == (), body
                assert yaml.safe_load(body)
    assert found >= 5
