"""What a prompt attaches with ``@``."""

import pytest

from lockgate.analysis.prompts.prompt import mention_effects
from lockgate.resources.host_view import AnalysisRules, HostView, Service

WIKI = Service(public_source=False)
AROUND = HostView(home="/home/u", workspace="/home/u/p", rules=AnalysisRules(service={"mcp__wiki": WIKI}.get))


@pytest.mark.parametrize(
    ("prompt", "kinds"),
    [
        pytest.param("look at @.env please", {"read_secret"}, id="secret"),
        pytest.param("look at @.env.", {"read_secret"}, id="secret-at-the-end-of-a-sentence"),
        pytest.param('see @"~/.aws/credentials"', {"read_secret"}, id="quoted"),
        pytest.param("see @.env#L3-9", {"read_secret"}, id="lines"),
        pytest.param("see @" + "./" * 4000 + ".env", {"read_secret"}, id="long"),
        pytest.param('see @"' + "x/../" * 4000 + '.env"', {"read_secret"}, id="long-and-quoted"),
        pytest.param("fix @github:issue://7", {"ingest"}, id="resource"),
        pytest.param("fix @github:memo and go", {"ingest"}, id="resource-with-a-plain-name"),
        pytest.param("fix @plugin:tracker:srv:issue://7", {"ingest"}, id="resource-of-a-plugin-s-server"),
        pytest.param("see @Makefile:12 and @src/main.py:3-9", set(), id="lines-of-files"),
        pytest.param("see @https://example.com/x", set(), id="no-resource"),
        pytest.param("/mcp__github__triage 7", {"ingest"}, id="prompt-of-a-server"),
        pytest.param("/github:triage (MCP) 7", {"ingest"}, id="prompt-of-a-server-as-it-is-listed"),
        pytest.param("/plugin:x:srv:triage: (MCP) 7", {"ingest"}, id="prompt-of-a-plugin-s-server-with-colons"),
        pytest.param("/" + "a:" * 300_000, set(), id="a-word-of-colons-is-looked-at-once"),
        pytest.param("/triage mcp__github__triage", set(), id="a-skill-of-the-same-name"),
        pytest.param("/own:triage 7", set(), id="a-skill-in-a-folder"),
        pytest.param("/mcp__wiki__start", set(), id="prompt-of-a-server-that-a-person-trusts"),
        pytest.param("see @src/main.py and @README.md", set(), id="ordinary-files"),
        pytest.param("mail me@example.com about it", set(), id="mail-address"),
        pytest.param("no mention at all", set(), id="nothing"),
    ],
)
def test_mentions(prompt: str, kinds: set[str]) -> None:
    assert {effect.kind.value for effect in mention_effects(prompt, "/home/u/p", AROUND)} == kinds


def test_many_mentions_end() -> None:
    assert len(mention_effects(" ".join(f"@a{n}" for n in range(100_000)) + " @.env", "/home/u/p", AROUND)) == 0
