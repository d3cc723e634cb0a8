"""What a person's rules and plugins forbid does not happen, in a session that has read nothing."""

from __future__ import annotations

from e2e.conftest import Serve
from e2e.harness.script import Script, bash
from e2e.harness.world import World

PLUGIN = """
def before_tool_use(tool_name, tool_input):
    print("noise that is no answer", flush=True)
    if "made" in tool_input.get("command", ""):
        return {"decision": "deny", "reason": "nothing is made here"}

async def after_tool_use(tool_output):
    return {"allowed": "unfit" not in tool_output, "reason": "this is not for models"}
"""


def test_rules_and_plugins_hold_in_a_clean_session(world: World, serve: Serve) -> None:
    config = world.home / ".config" / "lockgate"
    config.mkdir(parents=True, mode=0o700)
    (config / "lockgate.yaml").write_text("git: {force_push: deny}\nplugins: [./policy.py]\n")
    (config / "policy.py").write_text(PLUGIN)
    (config / "policy.py").chmod(0o600)
    calls = ("git push -f origin main", "sh -c 'git push origin +main'", "git push origin main", "touch made",
             "echo it is unfit", "echo it is fine")  # fmt: skip
    model = serve(Script.of(*(bash(call) for call in calls)))
    world.run(model)
    forced, hidden, plain, made, unfit, fine = (model.result(turn) for turn in range(6))
    assert "rules:git/force-push" in forced.text
    assert "rules:git/force-push" in hidden.text
    assert not plain.is_error
    assert len(world.pushes) == 1
    assert "nothing is made here" in made.text
    assert not (world.project / "made").exists()
    assert "unfit" not in unfit.text
    assert "this is not for models" in unfit.text
    assert "it is fine" in fine.text
