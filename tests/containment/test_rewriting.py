"""The text that runs a command contained says exactly that command, and is told apart from every other text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.containment.host_facts import SYSTEM_LAUNCHER, Host
from lockgate.containment.request import RunCommandLine
from lockgate.containment.rewriting import RunLaunch, contain_command, contain_input, original, room_in

BY_PYTHON = RunLaunch(
    "/opt/my tools/python", "/opt/lockgate/contain.py", "/home/u", "/home/u/state", "/home/u/c", "/home/u/w"
)
LAUNCH = BY_PYTHON._replace(launcher="/opt/lockgate/lockgate-contain")
BY_COPY = BY_PYTHON._replace(launcher=SYSTEM_LAUNCHER)
EITHER = st.sampled_from(
    [LAUNCH, BY_PYTHON, BY_COPY, LAUNCH._replace(room="ab" * 16), BY_PYTHON._replace(room="cd" * 16)]
)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(TEXTS, st.booleans(), EITHER)
def test_there_and_back(command: str, background: bool, by: RunLaunch) -> None:
    """Also where the launcher was built, or has gone, between the call and its result; and whatever room it is in."""
    text = contain_command(command, by, background=background)
    assert original(text, LAUNCH) == command
    assert room_in(text) == by.room


@given(TEXTS)
def test_any_other_text_is_itself(text: str) -> None:
    assert original(text, LAUNCH) == text


@pytest.mark.parametrize(
    "text",
    [
        contain_command("ls", LAUNCH) + "; curl https://a.example/",
        contain_command("ls", LAUNCH).replace("/home/u/w", "/"),
        contain_command("ls", LAUNCH).replace(" --shell", " --folder-to=1 --shell"),
        contain_command("ls", LAUNCH) + " x",
        "env " + contain_command("ls", LAUNCH),
        contain_command("cd x", LAUNCH).replace("{ ", "{ curl https://a.example/; "),
        contain_command("ls", LAUNCH).replace("/opt/my tools/python", "/tmp/python"),
        contain_command("ls", LAUNCH).replace("/opt/lockgate/contain.py", "/tmp/contain.py"),
        contain_command("ls", LAUNCH).replace("/opt/lockgate/lockgate-contain", "/tmp/lockgate-contain"),
        contain_command("ls", BY_PYTHON).replace("-I -S", "-I"),
    ],
)
def test_a_forgery_is_no_contained_command(text: str) -> None:
    assert original(text, LAUNCH) == text


COMMANDS = (
    "echo 'a'\"b\" $HOME",
    "cat <<E\n'x'\nE",
    "cd /tmp && ls\n# end",
    "printf %s \\\n x",
    "'",
    '"',
    "$(cd x)",
    "=ls",
)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_shell_reads_one_word(shell: str, command: str) -> None:
    """With a program in the sandbox's place that shows its last argument."""
    show = BY_PYTHON._replace(python="/usr/bin/python3", program="/dev/stdin")
    text = contain_command(command, show)
    script = (
        "import os, sys; os.write(2, sys.argv[-1].encode()); os.path.exists('/proc/self/fd/3') and os.write(3, b'/')"
    )
    done = subprocess.run([shell, "-c", text], input=script, capture_output=True, text=True)
    assert done.stderr == command
    assert done.stdout == ""


@pytest.mark.parametrize("tool_input", [{}, {"command": ""}, {"command": " \n"}, {"command": "a\0b"}, {"command": 3}])
def test_what_is_no_command_cannot_be_contained(tool_input: dict[str, object]) -> None:
    assert contain_input(tool_input, LAUNCH, Host) is None


@pytest.mark.parametrize("way", ["", "namespaces"])
def test_the_launcher_is_used_where_it_runs(tmp_path: Path, way: str) -> None:
    launch = LAUNCH._replace(workspace=str(tmp_path))
    found = contain_input(
        {"command": "ls"},
        launch,
        lambda: Host("bubblewrap", "/usr/bin/bwrap", launcher=way, launched_by=launch.launcher if way else ""),
    )
    assert found == {"command": contain_command("ls", launch if way else launch._replace(launcher=""))}
    assert contain_input({"command": "ls"}, launch, lambda: Host(problem="none")) is None


def test_a_person_reads_what_runs() -> None:
    assert contain_command("pytest -q 'tests/a b'", LAUNCH).endswith(" --shell 'pytest -q '\\''tests/a b'\\'''")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("git commit -m x", True),
        ("cd ~/github/x && /usr/bin/git status", True),
        ("x=$(git rev-parse HEAD)", True),
        ("`git log`;git gc", True),
        ("git-lfs install", True),
        ("lazygit", True),
        ("python3 -c \"import subprocess; subprocess.run(['git', 'add', 'x'])\"", True),
        ("python3 -c 'import git'", True),
        ("make; [ -n x ]&&git push", True),
        ("cd ~/github/x && make", False),
        ("cd ~/git/x && make", False),
        ("ls .git", False),
        ("cat .gitignore .github/workflows/ci.yml", False),
        ("echo digits legit", False),
        ("rm -rf .git/hooks", False),
        ("curl -O https://example.com/a.git", False),
        ("echo x > .git/config", False),
    ],
)
def test_records_of_git_may_change_where_git_itself_is_named(text: str, named: bool) -> None:
    assert RunCommandLine({}, (), text).names_git is named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("npm ci --offline", True),
        ("cd app && npm install --prefer-offline", True),
        ("npm_config_offline=true npm ci", True),
        ("npm pack", False),
        ("npm ci --no-offline", False),
        ("npm run docs -- --offline-docs", False),
        ("echo offline", False),
    ],
)
def test_the_persons_cache_of_npm_is_read_where_a_command_says_offline(text: str, named: bool) -> None:
    assert RunCommandLine({}, (), text).names_offline is named
    assert RunCommandLine({}, tuple(text.split())).names_offline is named


def test_the_copy_is_used_where_only_it_may_make_namespaces(tmp_path: Path) -> None:
    launch = LAUNCH._replace(workspace=str(tmp_path))
    able = Host(launcher="namespaces", launched_by=SYSTEM_LAUNCHER)
    found = contain_input({"command": "ls"}, launch, lambda: able)
    assert found == {"command": contain_command("ls", launch._replace(launcher=SYSTEM_LAUNCHER))}
