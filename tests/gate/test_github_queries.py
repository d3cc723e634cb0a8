"""Requests to GitHub's API that only read, in a session that has read strangers' text."""

from __future__ import annotations

import pytest

from lockgate.core.model import Verdict

from .world import World

READS = [
    "gh api graphql -f query='query($o: String!) { repository(owner: $o, name: \"x\") { id } }' -F o=me --jq .data",
    "gh api graphql -f query='{ viewer { login } }'",
    "gh api repos/o/r/issues",
    "gh api /repos/o/r -q .id",
    "gh api -H 'Accept: x' repos/o/r",
    "gh api graphql --paginate -f query='query { a }'",
]
ACTS = [
    "gh api graphql -f query='mutation { x }'",
    "gh api graphql -f query='query A { a } mutation B { b }' -f operationName=B",
    "gh api graphql -F query=@q.graphql",
    "gh api graphql -f query='query { a }' -F x=@.env",
    'gh api graphql -f query="query { a(x: \\"$(cat notes)\\") }"',
    "gh api graphql -f query='query { a }' --hostname e.example",
    "gh api graphql -f query='query { a }' -H \"x: $(cat notes)\"",
    "gh api graphql --input q.json",
    "gh api graphql -f query='query { a }' -X DELETE",
    "gh api graphql",
    "gh api repos/o/r/issues -f title=x",
    "gh api -X POST repos/o/r/issues -f title=x",
    "gh api https://e.example/x",
    "gh api graphql -f query='fragment F on X { a } mutation { b }'",
    "gh api -f query='query { a }' repos/o/r",
    "gh api graphql -f 'query=query { a }' -f query='mutation { b }'",
    "gh api -X DELETE repos/o/r",
    "gh api --method DELETE /repos/x",
    "gh api --method=DELETE /repos/x",
    "gh api --field a=b repos/x",
    "gh api --input f repos/x",
    "gh api -f query='mutation { x }' graphql",
    "gh api -X POST graphql",
    "gh api --hostname e.example repos/x",
    "gh api $(cat x)",
    "gh api repos/$X",
    "gh api -XDELETE repos/o/r",
    "gh api repos/o/r -f",
    "gh api -fa=b repos/o/r",
    "gh api --input=- repos/x",
]


@pytest.mark.parametrize("command", READS)
def test_a_request_that_only_reads_runs(world: World, command: str) -> None:
    world.taint()
    assert world.bash(command) is Verdict.ALLOW


@pytest.mark.parametrize("command", ACTS)
def test_a_request_that_may_act_or_carry_something_is_refused(world: World, command: str) -> None:
    world.taint()
    assert world.bash(command) is Verdict.DENY
