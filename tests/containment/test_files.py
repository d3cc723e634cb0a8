"""What a contained command can write to, and what it can see."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from containment.machine import SECRET, Machine

pytestmark = pytest.mark.sampled

PROTECTED = (
    ".git/hooks/pre-commit",
    ".git/config",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents/helper.md",
    ".mcp.json",
    ".github/workflows/x.yml",
    ".gitlab-ci.yml",
    ".vscode/tasks.json",
    ".husky/pre-push",
    ".envrc",
    "CLAUDE.md",
    "sub/CLAUDE.md",
    "sub/.vscode/tasks.json",
    "lockgate.yaml",
)


@pytest.mark.parametrize("name", PROTECTED)
@pytest.mark.parametrize("there", [True, False], ids=["there", "new"])
def test_a_protected_place_stays_as_it_was(machine: Machine, name: str, there: bool) -> None:
    machine.git()
    path = machine.project / name
    if there:
        machine.file(name, "[core]\n" if name == ".git/config" else "before\n")
    before = path.read_bytes() if path.exists() else None
    write = f"echo evil > '{name}'"
    script = f"git --version; mkdir -p '{path.parent}'; echo evil >> '{name}'; {write}; rm -f '{name}'; {write}"
    machine.run(script)
    assert (path.read_bytes() if path.exists() else None) == before


TRICKS = {
    "another name for the folder": "mv .git .git2; cp -r .git2 .git; echo evil > .git/hooks/pre-commit",
    "a folder in its place": "mv .vscode .old; mkdir .vscode; echo evil > .vscode/tasks.json",
    "a rename over it": "echo evil > x; mv -f x .vscode/tasks.json; mv -f x .git/config; mv -f x .envrc",
    "a hard link": "ln .envrc link; ln .git/config link2; echo evil >> link; echo evil >> link2",
    "a symbolic link to the folder": (
        "ln -s .git/hooks h; echo evil > h/pre-commit; ln -s .vscode v; echo evil > v/tasks.json"
    ),
    "a symbolic link in its place": "mkdir mine; echo evil > mine/settings.json; ln -s mine .claude",
    "the folder moved in": "mkdir -p mine/workflows; echo evil > mine/workflows/x.yml; mv mine .github",
    "a mount": "mount --bind /etc .vscode; umount .vscode .git .envrc; echo evil > .vscode/tasks.json",
    "a mount in a namespace of its own": (
        "unshare -Urm sh -c 'umount .envrc; mount -o remount,rw,bind .envrc; echo evil > .envrc'"
    ),
    "through the process's root": (
        "for way in self/root$PWD 1/root$PWD self/cwd; do echo evil > /proc/$way/.envrc; done"
    ),
    "other letters": "mkdir .CLAUDE; echo evil > .CLAUDE/settings.json; echo evil > .ENVRC",
    "permissions": "chmod -R 777 .git .vscode .envrc; echo evil > .envrc",
    "an exchange": (
        'python3 -c \'import ctypes; ctypes.CDLL(None).renameat2(-100, b".vscode", -100, b"mine", 2)\'; '
        "echo evil > .vscode/tasks.json"
    ),
    "a removal": "rm -rf .git/hooks .vscode .envrc; mkdir .vscode; echo evil > .vscode/tasks.json; echo evil > .envrc",
    "after the end": "(setsid sh -c 'sleep 2; mkdir .claude; echo evil > .claude/settings.json' &) ; sleep 0.2",
}


@pytest.mark.parametrize("trick", TRICKS)
def test_tricks_change_nothing(machine: Machine, trick: str) -> None:
    machine.git()
    for name in (".vscode/tasks.json", ".envrc", "mine/x"):
        machine.file(name, "before\n")
    watched = [machine.project / name for name in (".git/config", ".git/HEAD", ".vscode/tasks.json", ".envrc")]
    before = [path.read_bytes() for path in watched]
    machine.run(f"git --version; {TRICKS[trick]}")
    assert [path.read_bytes() for path in watched] == before
    assert not (machine.project / ".git" / "hooks" / "pre-commit").exists()
    for name in (".claude", ".CLAUDE", ".ENVRC", ".github"):
        assert not os.path.lexists(machine.project / name)


def test_a_link_that_was_there_leads_where_it_led(machine: Machine) -> None:
    machine.file("tools/claude/settings.json", "before\n")
    (machine.project / ".claude").symlink_to("tools/claude")
    evil = "echo evil > tools/claude/settings.json; rm .claude; mkdir .claude; echo evil > .claude/settings.json"
    machine.run(evil)
    assert (machine.project / "tools/claude/settings.json").read_text() == "before\n"
    assert not (machine.project / ".claude" / "settings.json").exists() or (machine.project / ".claude").is_symlink()


SWAPS = {
    "the folder above": (
        "sub/.vscode/tasks.json",
        "mv sub old; mkdir -p sub/.vscode; echo evil > sub/.vscode/tasks.json",
    ),
    "the folder two above": ("a/b/.envrc", "mv a old; mkdir -p a/b; echo evil > a/b/.envrc"),
    "the folder above what a link leads to": (
        ".claude/settings.json",
        "mv tools old; mkdir -p tools/claude; echo evil > tools/claude/settings.json",
    ),
    "what a link leads to that was not there": (
        ".vscode/tasks.json",
        "mkdir -p nowhere/vscode; echo evil > nowhere/vscode/tasks.json",
    ),
    "a repository in a folder": (
        "nested/.git/config",
        "mv nested old; mkdir -p nested/.git/hooks; cp old/.git/HEAD nested/.git; echo evil > nested/.git/config",
    ),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_another_folder_in_the_place_of_one_above_brings_nothing_in(machine: Machine, swap: str) -> None:
    name, script = SWAPS[swap]
    for file in ("sub/.vscode/tasks.json", "a/b/.envrc", "tools/claude/settings.json"):
        machine.file(file, "before\n")
    machine.outside("git init -q nested")
    (machine.project / ".claude").symlink_to("tools/claude")
    (machine.project / ".vscode").symlink_to("nowhere/vscode")
    done = machine.run(script)
    path = machine.project / name
    assert not path.exists() or path.read_text() != "evil\n", done
    assert "kept-by-lockgate" in done.stderr


def test_the_gates_own_code_stays_where_it_is(machine: Machine) -> None:
    machine.config.rmdir()
    machine.config = machine.project / "tools" / "gate"
    machine.file("tools/gate/lockgate.yaml", "{}\n")
    machine.file("tools/x", "before\n")
    machine.run("echo after > tools/x; mv tools old; mkdir -p tools/gate; echo evil > tools/gate/lockgate.yaml")
    assert (machine.project / "tools/gate/lockgate.yaml").read_text() == "{}\n"
    assert (machine.project / "tools/x").read_text() == "after\n"


def test_other_names_for_folders_are_left_alone(machine: Machine) -> None:
    for file in ("sub/.vscode/tasks.json", "lib/a.py"):
        machine.file(file, "before\n")
    (machine.project / "CLAUDE.md").symlink_to("AGENTS.md")
    machine.file("AGENTS.md", "before\n")
    done = machine.run("mv lib new && mv new lib && mkdir other && mv other sub/other && mv sub old && mv old sub")
    assert done.returncode == 0
    assert "kept-by-lockgate" not in done.stderr
    assert (machine.project / "sub/.vscode/tasks.json").read_text() == "before\n"
    assert (machine.project / "CLAUDE.md").is_symlink()


def test_what_was_made_is_kept_beside_and_said(machine: Machine) -> None:
    # In one step: a folder that comes to be in several may be taken away between two of them.
    make = "mkdir -p made/workflows; echo evil > made/workflows/x.yml; mkdir sub; mv made sub/.github"
    done = machine.run(f"{make}; echo fine > sub/a")
    assert (machine.project / "sub/a").read_text() == "fine\n"
    kept = machine.project / "sub" / ".github.kept-by-lockgate" / "workflows" / "x.yml"
    assert kept.read_text() == "evil\n"
    assert "sub/.github" in done.stderr
    assert done.returncode == 0


def test_who_makes_it_again_and_again_is_ended(machine: Machine) -> None:
    done = machine.run("while :; do echo evil > .envrc; sleep 0.01; done")
    assert done.returncode == 137
    assert "again and again" in done.stderr
    assert not (machine.project / ".envrc").exists()


def test_a_prepared_cache_leads_nowhere(machine: Machine) -> None:
    """What lies in the command's own folders is its own choice, so nothing is mounted below them."""
    machine.write(".cache/huggingface/token")
    machine.run("ln -s $PWD ~/.cache/huggingface; ls ~/.cache")
    done = machine.run("cat ~/.cache/huggingface/token; ls")
    assert SECRET not in done.stdout
    assert not (machine.project / "token").exists()


OUTSIDE = (
    "{home}/made",
    "{home}/.bashrc",
    "{home}/.ssh/authorized_keys",
    "{home}/code/other/x",
    "{state}/x",
    "{root}/x",
    "/etc/x",
    "/usr/bin/x",
    "/var/tmp/lockgate-x",
    "/tmp/lockgate-x",
    "/run/x",
    "/dev/shm/lockgate-x",
    "{python}/x",
)


def test_nothing_is_written_outside(machine: Machine) -> None:
    machine.write(".bashrc", "before\n")
    machine.write("code/other/a", "before\n")
    places = {"home": machine.home, "state": machine.state, "root": machine.root, "python": Path(sys.executable).parent}
    paths = [Path(text.format(**places)) for text in OUTSIDE]
    before = [path.read_bytes() if path.exists() else None for path in paths]
    machine.run("; ".join(f"echo evil >> '{path}'; mkdir -p '{path}.d'" for path in paths))
    assert [path.read_bytes() if path.exists() else None for path in paths] == before
    assert not [path for path in paths if Path(f"{path}.d").exists()]


SECRETS = (
    ".ssh/id_ed25519",
    ".ssh/work",
    ".aws/credentials",
    ".config/gcloud/x.json",
    ".netrc",
    ".npmrc",
    ".docker/config.json",
    ".kube/config",
    ".git-credentials",
    ".bash_history",
    ".claude/.credentials.json",
    ".claude.json",
    ".claude/projects/-p/0a.jsonl",
    ".mozilla/firefox/x/cookies.sqlite",
    ".local/state/lockgate/key",
    ".local/state/lockgate/other.json",
    "code/project/.env",
    "code/project/sub/deep/.env.local",
    "code/project/certs/server.key",
    "code/project/config/secrets.yml",
    "code/other/.env",
)


def test_secrets_are_not_seen(machine: Machine) -> None:
    machine.git()
    paths = [machine.write(name) for name in SECRETS]
    (machine.project / "link").symlink_to(paths[0])
    shown = " ".join(f"'{path}'" for path in paths)
    each = "cat /proc/self/root$f /proc/1/root$f; cp $f copy; cat copy; mv $f moved; cat moved"
    search = f"grep -r {SECRET} {machine.home}; cat /proc/*/environ | tr '\\0' '\\n'"
    seen = machine.run(f"cat {shown} link; for f in {shown}; do {each}; done; {search}")
    assert SECRET not in seen.stdout
    assert [path.read_text() for path in paths] == [SECRET] * len(paths)
    assert SECRET in machine.outside(f"cat {shown}").stdout


@pytest.mark.parametrize("place", [".ssh", ".ssh/deep", ".local/state/lockgate", ".local/state/lockgate/kept"])
def test_no_variable_of_a_project_brings_back_what_is_hidden(machine: Machine, place: str) -> None:
    for name in (".ssh/id_rsa", ".ssh/deep/id_rsa", ".local/state/lockgate/x", ".local/state/lockgate/kept/x"):
        machine.write(name)
    machine.environment |= {
        "PATH": f"{machine.home}/{place}:{machine.environment['PATH']}",
        "XDG_RUNTIME_DIR": str(machine.home),
    }
    seen = machine.run(f"echo it runs; grep -r {SECRET} {machine.home}/{place}")
    assert "it runs" in seen.stdout
    assert SECRET not in seen.stdout
    assert SECRET in machine.outside(f"grep -r {SECRET} {machine.home}/{place}").stdout


def test_what_is_no_secret_is_seen(machine: Machine) -> None:
    machine.write(".ssh/known_hosts", "hosts\n")
    machine.write(".gitconfig", "[alias]\n")
    machine.write("code/other/lib.py", "library\n")
    done = machine.run("cat ~/.ssh/known_hosts ~/.gitconfig ../other/lib.py")
    assert done.stdout == "hosts\n[alias]\nlibrary\n"


def test_the_environment_holds_no_secrets(machine: Machine) -> None:
    secret = (
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "ANTHROPIC_API_KEY",
        "DB_PASSWORD",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY",
        "DOCKER_HOST",
        "https_proxy",
        "NPM_AUTH",
        "MYSQL_PWD",
    )
    plain = ("EDITOR", "NODE_ENV", "KEYMAP", "TOKENIZERS_PARALLELISM", "GIT_AUTHOR_NAME")
    environment = {**machine.environment, **dict.fromkeys(secret, SECRET), **dict.fromkeys(plain, "fine")}
    environment["DATABASE_URL"] = f"postgres://user:{SECRET}@db/x"
    seen = machine.run("env", env=environment).stdout
    assert SECRET not in seen
    assert [name for name in plain if f"{name}=fine" not in seen] == []


def test_a_persons_own_places(machine: Machine) -> None:
    text = "protected_paths: [build.lock]\nsecret_paths: [private/**]\npersistent_paths: [deploy/**]\n"
    (machine.config / "lockgate.yaml").write_text(text)
    machine.settle()
    machine.file("private/a.txt", SECRET)
    machine.file("build.lock", "before\n")
    machine.file("deploy/run", "before\n")
    done = machine.run("cat private/a.txt; echo evil >> build.lock; echo evil >> deploy/run; echo evil > deploy/new")
    assert SECRET not in done.stdout
    assert (machine.project / "build.lock").read_text() == "before\n"
    assert (machine.project / "deploy/run").read_text() == "before\n"
    assert not (machine.project / "deploy/new").exists()
