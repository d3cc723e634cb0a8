"""A client whose folder a variable moves is guarded there: the hooks go where the real client looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.harness.other_models import ChatModel
from e2e.harness.other_worlds import CopilotWorld, OpenCodeWorld, OtherWorld
from e2e.harness.script import Call, Script
from e2e.harness.world import PUSH


class _Moved(OtherWorld):
    variable: str
    usual: str
    """The folder that it moves, below the home folder."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, self.variable: str(self.root / "moved")}

    def _answer_first_run_questions(self) -> None:
        super()._answer_first_run_questions()
        (self.home / self.usual).rename(self.root / "moved")


class _MovedCopilot(_Moved, CopilotWorld):
    variable, usual = "COPILOT_HOME", ".copilot"


class _MovedOpenCode(_Moved, OpenCodeWorld):
    variable, usual = "XDG_CONFIG_HOME", ".config"


@pytest.mark.parametrize(
    ("kind", "issue"),
    [(_MovedCopilot, "tracker-fetch_issue"), (_MovedOpenCode, "tracker_fetch_issue")],
    ids=["copilot-cli", "opencode"],
)
def test_the_client_is_guarded(tmp_path: Path, kind: type[_Moved], issue: str) -> None:
    world = kind(tmp_path.resolve(), "")
    world.install()
    push = Call("bash", {"command": PUSH, "description": "step"})
    with ChatModel(Script.of(Call(issue, {"number": 7}), push)) as model:
        world.ask(model)
    assert world.pushes == []
    assert "Lockgate blocked this call" in model.result(1)
