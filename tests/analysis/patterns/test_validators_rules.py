"""The shipped rules for personal data, formats and code, with the engine that hooks use."""

import functools
from pathlib import Path

import hyperscan
import pytest
import re2

from lockgate import patterns
from lockgate.patterns.engine.compiling import compile_library
from lockgate.patterns.engine.matcher import Matcher
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import fields_of
from lockgate.patterns.library.linking import Linked, link
from lockgate.patterns.library.loading import load, real_checks
from lockgate.patterns.library.merging import PatternLayer, merge
from lockgate.patterns.model import GuardrailDecision, Side

LIBRARY = Path(patterns.__file__).parent / "library"


def linked(*names: str) -> Linked:
    layers = []
    for name in names:
        loaded = load((LIBRARY / name).read_bytes(), name, real_checks())
        assert loaded.problems == ()
        layers.append(PatternLayer(name, name, loaded.document))
    return link(merge(layers))


LIBRARIES = {name: linked(name) for name in ("pii.yaml", "formats.yaml", "code.yaml")}


@functools.cache
def scanner(name: str) -> Scanner:
    """The scanner of a library, compiled when a test wants it: each worker collects all tests, and few run these."""
    matcher = Matcher(compile_library(LIBRARIES[name].library, hyperscan), hyperscan, lambda: re2)
    return Scanner(matcher, lambda: 0.0, bytes(range(32)))


EXAMPLES = [
    pytest.param(name, index, text, expected, id=f"{rule.id}-{'match' if expected else 'no_match'}-{count}")
    for name, made in LIBRARIES.items()
    for index, (rule, origin) in enumerate(zip(made.library.rules, made.origins, strict=True))
    for expected, texts in ((True, origin.match), (False, origin.no_match))
    for count, text in enumerate(texts)
]


def found(name, text, field="content", tool="Write", agent=""):
    """The ids of the rules that match a text, of groups of either side."""
    scan = scanner(name)
    return {
        match.rule.rpartition("/")[2]
        for side in Side
        for match in scan.check(fields_of({field: text}), CheckRequest(side, tool, agent)).pattern_matches
    }


@pytest.mark.parametrize(("name", "index", "text", "expected"), EXAMPLES)
def test_a_rule_finds_its_examples_and_leaves_the_others(name, index, text, expected):
    rule = LIBRARIES[name].library.rules[index]
    field = rule.fields[0] if rule.fields else "content"
    agent = rule.applies_to[0].replace("*", "x") if rule.negated else ""
    assert (rule.id in found(name, text, field, agent=agent)) is expected


INNOCENT = [
    "task-0f1e2d3c4b5a69788796a5b4c3d2e1f0 finished at 1763764535 (1763764535123 ms, 1763764535123456789 ns)",
    "commit 9f2c4e7a1b3d5f60718293a4b5c6d7e8f9012345\nAuthor: A U Thor <author@example.com>",
    "3f8a2b1c-9d4e-4f60-8a1b-2c3d4e5f6071 4d3c2b1a-1111-4222-8333-123456789012",
    "2026-01-12T10:30:45.123456Z 2026-01-12 10:30 20260112-103045",
    "x = 0.4539170438015003 + 3.141592653589793e-16 - 2.7182818284590452 + 2.15550121570e+4342944809",
    "Chrome/126.0.6478.127 Safari/537.36 v10.4.128.3 >=1.20.300.4",
    "ISBN 978-3-16-148410-0, DOI 10.1000/182, RFC 2119, CVE-2026-12345, ASIN B00005N5PF",
    "lodash@4.17.21 @types/node@20.1.0 icon@2x.png @app.route('/x') git@github.com:acme/tool.git",
    '"integrity": "sha512-Zk9Qw2Lm7Rt5Yx3Vb8Nc1Hd6Js4Pf0GaZk9Qw2Lm7Rt5Yx3Vb8Nc1Hd6Js4Pf0GaZk9Qw2Lm7Rt5Yx3=="',
    "4539170438015004 4242 4242 4242 4242 order 4000000000000002",
    "127.0.0.1:8080 10.20.30.40 192.168.1.254 192.0.2.1 255.255.255.0 0.0.0.0",
    "npm run evaluate; ls src/variants/; cargo fmt; prettier --format; alarm; confirm",
    "docker run --rm -it alpine:3.20 sh -c 'echo ok'",
    "phone_id=1763764535123456 user_id: 1042938475610293847 build 415.867",
    "-rw-r--r-- 1 root root 4096 Jan 12 10:30 file\ndrwxr-xr-x 22 1000 1000 536-22 x",
    "#define MASK 0x7fffffff\nint t[] = {2147483647, 4294967295, 6227020800};",
    "M 10.5 20.25 L 415.867 229.4 123.456.789 Z",
]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("text", INNOCENT)
def test_everyday_text_is_left_alone(name, text):
    assert found(name, text) == set()


def test_format_rules_look_at_their_fields_and_agents_alone():
    assert found("formats.yaml", "PROJ-12", "project_id", agent="ps-critic") == {"project_id"}
    assert found("formats.yaml", "PROJ-12", "project_id", agent="reviewer") == set()
    assert found("formats.yaml", "PROJ-12", "content", agent="ps-critic") == set()


def test_personal_data_is_remarked_upon_and_stops_nothing():
    result = scanner("pii.yaml").check(fields_of({"command": "echo 536-22-8714"}), CheckRequest(Side.INPUT, "Bash"))
    assert result.decision is GuardrailDecision.WARN
    assert [match.type for match in result.pattern_matches] == ["SSN"]


def test_a_line_that_wipes_a_system_is_found_only_where_files_are_written():
    assert found("code.yaml", "rm -rf /\n") == {"wipes_a_system"}
    assert found("code.yaml", "rm -rf /\n", field="command", tool="Bash") == set()
