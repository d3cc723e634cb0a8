"""What a prompt attaches with ``@``."""

import pytest

from lockgate.analysis.mentions import mention_effects
from lockgate.analysis.surroundings import Surroundings

AROUND = Surroundings(home="/home/u", workspace="/home/u/p")


@pytest.mark.parametrize(
    ("prompt", "kinds"),
    [
        pytest.param("look at @.env please", {"read_secret"}, id="secret"),
        pytest.param("look at @.env.", {"read_secret"}, id="secret-at-the-end-of-a-sentence"),
        pytest.param('see @"~/.aws/credentials"', {"read_secret"}, id="quoted"),
        pytest.param("see @.env#L3-9", {"read_secret"}, id="lines"),
        pytest.param("fix @github:issue://7", {"ingest"}, id="resource"),
        pytest.param("see @src/main.py and @README.md", set(), id="ordinary-files"),
        pytest.param("mail me@example.com about it", set(), id="mail-address"),
        pytest.param("no mention at all", set(), id="nothing"),
    ],
)
def test_mentions(prompt: str, kinds: set[str]) -> None:
    assert {effect.kind.value for effect in mention_effects(prompt, "/home/u/p", AROUND)} == kinds


def test_many_mentions_end() -> None:
    assert len(mention_effects("@a " * 100_000 + "@.env", "/home/u/p", AROUND)) == 0
