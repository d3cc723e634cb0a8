"""``lockgate plugins``, and what `doctor` and `explain` say of plugins and rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lockgate.cli.explain.explanation import _configuration, _policies
from lockgate.cli.main import cli

GOOD = """
print("loading")
def before_tool_use(tool_name, tool_input):
    if "--force" in tool_input.get("command", ""):
        return {"decision": "deny", "reason": "no \\x1b[31mforce"}
def after_tool_use(tool_output):
    return None
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's configuration."""
    for name, folder in (("HOME", "home"), ("XDG_CONFIG_HOME", "home/.config"), ("XDG_STATE_HOME", "home/.state")):
        (tmp_path / folder).mkdir(mode=0o700, exist_ok=True)
        monkeypatch.setenv(name, str(tmp_path / folder))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    made = tmp_path / "home/.config/lockgate"
    made.mkdir(mode=0o700)
    _policies.cache_clear()
    _configuration.cache_clear()
    return made


def plugin(folder: Path, code: str, name: str = "policy.py") -> Path:
    path = folder / name
    path.write_text(code)
    path.chmod(0o600)
    return path


def invoke(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, (result.output, result.stderr, result.exception)
    return result


def test_without_plugins_there_is_nothing_to_show(config: Path) -> None:
    assert "no plugins" in invoke("plugins", "list").output
    assert json.loads(invoke("plugins", "list", "--json").output) == {"plugins": []}


def test_plugins_are_shown_in_their_order_with_what_they_are(config: Path) -> None:
    good = plugin(config, GOOD)
    (config / "lockgate.yaml").write_text("plugins: [./policy.py, ./gone.py]\n")
    shown = invoke("plugins", "list", code=1).output.splitlines()
    assert shown[0].startswith(f"ok    policy: before_tool_use, after_tool_use; {good}; sha256 ")
    assert shown[1] == (
        "fail  the plugin `gone` cannot be loaded: there is no such file; until then every call is denied"
    )
    first, second = json.loads(invoke("plugins", "list", "--json", code=1).stdout)["plugins"]
    assert (first["name"], first["source"], first["problem"]) == ("policy", str(good), None)
    assert (second["sha256"], second["hooks"]) == (None, [])


def test_a_file_is_tried_and_what_it_prints_stays_out_of_the_answer(config: Path, tmp_path: Path) -> None:
    path = plugin(config, GOOD)
    result = invoke("plugins", "check", str(path))
    assert "loading" not in result.stdout
    assert "loading" in result.stderr
    assert "deny  before_tool_use Bash " in result.stdout
    assert "no \\e[31mforce" in result.stdout
    assert "\x1b" not in result.stdout
    told = json.loads(invoke("plugins", "check", str(path), "--json").stdout)
    assert told["ok"]
    assert {call["answer"] for call in told["calls"]} == {"allow", "deny"}


def test_calls_of_ones_own_are_tried(config: Path) -> None:
    path = plugin(config, "def before_tool_use(tool_name, tool_input):\n    return {'allowed': tool_input['n'] != 1}\n")
    calls = [json.dumps({"tool_name": "mcp__a__b", "tool_input": {"n": number}}) for number in (1, 2)]
    told = json.loads(invoke("plugins", "check", str(path), "--json", "--call", calls[0], "--call", calls[1]).stdout)
    assert [call["answer"] for call in told["calls"]] == ["deny", "allow"]
    for wrong in ("{", "[]", '{"tool_name": 1, "tool_input": {}}', '{"tool_name": "x"}'):
        invoke("plugins", "check", str(path), "--call", wrong, code=2)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("def before_tool_use():\n    raise OSError\n", "OSError at policy.py:2"),
        ("def before_tool_use():\n    return 1\n", "it returned an int"),
        ("1 / 0\n", "cannot be loaded: ZeroDivisionError"),
    ],
)
def test_a_plugin_that_fails_is_told(config: Path, code: str, says: str) -> None:
    assert says in invoke("plugins", "check", str(plugin(config, code)), code=1).stdout


def test_doctor_says_which_plugin_cannot_be_loaded(config: Path) -> None:
    plugin(config, GOOD)
    (config / "lockgate.yaml").write_text("plugins: [./policy.py, ./gone.py]\n")
    checks = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)["checks"]
    found = [(check["state"], check["says"]) for check in checks if check["name"] == "gate plugin"]
    assert found == [
        ("ok", "policy is asked about every call"),
        ("fail", "the plugin `gone` cannot be loaded: there is no such file; until then every call is denied"),
    ]


def test_explain_says_what_the_rules_have_against_a_call(config: Path) -> None:
    (config / "lockgate.yaml").write_text("git: {force_push: deny}\n")
    assert "deny in every state: `git push -f` pushes with force" in invoke("explain", "git push -f").stdout
    told = json.loads(invoke("explain", "--json", "git push -f").stdout)
    assert [(each["rule"], each["verdict"]) for each in told["objections"]] == [("rules:git/force-push", "deny")]
    assert json.loads(invoke("explain", "--json", "git push").stdout)["objections"] == []
