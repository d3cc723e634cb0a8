"""Reading and writing a client's records and a session's results, and loading instructions."""

from __future__ import annotations

import pytest

from lockgate.analysis.prompts.prompt import instructions_effects
from lockgate.core.model import EffectKind, Label, Variant
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects, write_effects

WORK = "/home/user/work"


def reads(path: str, around: HostView, cwd: str = WORK) -> set[str]:
    return {effect.rule for effect in read_effects(path, cwd, around)}


@pytest.mark.parametrize(
    ("path", "foreign"),
    [
        ("CLAUDE.md", False),
        ("sub/CLAUDE.md", False),
        ("~/.claude/CLAUDE.md", False),
        ("~/.claude/rules/a.md", False),
        ("/etc/claude-code/CLAUDE.md", False),
        ("/home/user/CLAUDE.md", False),
        ("~/.pi/agent/AGENTS.md", False),
        ("~/.config/opencode/AGENTS.md", False),
        ("~/.claude/projects/-p/memory/MEMORY.md", False),
        ("~/.config/editor/plugins/x/AGENTS.md", True),
        ("~/.claude/plugins/marketplaces/m/CLAUDE.md", True),
        ("~/.claude/rules/../plugins/cache/m/p/1.0/CLAUDE.md", True),
        ("~/.gemini/extensions/x/GEMINI.md", True),
        ("~/.pi/agent/git/github.com/a/b/AGENTS.md", True),
        ("/tmp/CLAUDE.md", True),
        ("/home/other/CLAUDE.md", True),
        ("~/projects/other/CLAUDE.md", True),
        ("node_modules/x/AGENTS.md", True),
        ("vendor/x/AGENTS.md", True),
    ],
)
def test_loaded_instructions(path, foreign, around):
    effects = instructions_effects(path, WORK, around)
    assert bool(effects) is foreign
    assert all(effect.gives is Label.UNTRUSTED for effect in effects)


@pytest.mark.parametrize("path", [".env", "sub/../.env", "~/.aws/credentials", "/srv/other/.env"])
def test_a_secret_that_instructions_include_is_read(path, around):
    assert Label.SECRET in {effect.gives for effect in instructions_effects(path, WORK, around)}


def test_client_records_are_read_as_untrusted(around):
    effects = read_effects("/tmp/claude-1000/work/s/tasks/b1.output", WORK, around)
    assert {(e.kind, e.gives) for e in effects} == {(EffectKind.INGEST, Label.UNTRUSTED)}


def test_a_sessions_own_results_gave_their_labels_already(around):
    patterns = ("/home/user/.claude/projects/-p/s1/tool-results/*", "/tmp/claude-1000/*/s1/tasks/b*.output")
    own = around._replace(session_results=patterns)
    assert reads("/tmp/claude-1000/work/s1/tasks/b1.output", own) == set()
    assert reads("~/.claude/projects/-p/s1/tool-results/a.txt", own) == set()
    for path in (
        "/tmp/claude-1000/work/s1/tasks/a1.output",
        "/tmp/claude-1000/work/s2/tasks/b1.output",
        "/tmp/claude-1000/work/s1/tasks/b*.output",
        "~/.claude/projects/-p/s2/tool-results/a.txt",
        "~/.claude/projects/-p/s1/subagents/agent-1.jsonl",
    ):
        assert EffectKind.INGEST in {e.kind for e in read_effects(path, WORK, own)}, path
    linked = own._replace(realpath=lambda path: path.replace("/tmp/claude-1000/work/s1/tasks/b1", "/home/user/.ssh/b1"))
    assert "place:secret/ssh" in reads("/tmp/claude-1000/work/s1/tasks/b1.output", linked)


def test_client_records_are_never_written(around):
    effects = write_effects("/tmp/claude-1000/work/s/tasks/b1.output", WORK, around)
    assert {(e.kind, e.variant) for e in effects} == {(EffectKind.TAMPER, Variant.SELF)}
    assert EffectKind.TAMPER not in {e.kind for e in write_effects("/tmp/claude-1000/work/memory/a.md", WORK, around)}
