"""A job of GitHub Actions on this machine: its checkout, its event, its variables, and a stand-in for Codex."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from support import forked
from support.prepared import give_state

OWNER = {"login": "owner", "id": 1, "type": "User"}
STRANGER = {"login": "stranger", "id": 9, "type": "User"}
REPOSITORY = {"id": 10, "full_name": "owner/tool", "default_branch": "main", "owner": OWNER}
ZEROS = "0" * 40

_CODEX = f"""#!{sys.executable}
import json, os, sys
home = os.environ["HOME"]
file = os.path.join(home, ".codex", "hooks.json")
try:
    config = open(os.path.join(home, ".codex", "config.toml")).read()
except FileNotFoundError:
    config = ""
listed = []
for event, groups in json.load(open(file))["hooks"].items():
    key = f"{{file}}:{{event}}:0:0"
    trusted = json.dumps(key) in config
    listed.append({{"key": key, "currentHash": "sha256:00", "trustStatus": "trusted" if trusted else "untrusted",
                    "command": groups[0]["hooks"][0]["command"]}})
for number, result in ((1, {{}}), (2, {{"data": [{{"hooks": listed}}]}})):
    print(json.dumps({{"id": number, "result": result}}), flush=True)
sys.stdin.read()
"""
"""What ``codex app-server`` answers: its hooks, and whether it trusts them."""


def git(folder: Path, *words: str) -> str:
    """Run git as somebody who has no configuration."""
    who = {f"GIT_{role}_{what}": "a@b.example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **who}
    done = subprocess.run(["git", "-C", str(folder), *words], env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, files: dict[str, str | None], message: str = "x") -> str:
    """Commit files to a repository, which is made where there is none. A file without text is removed."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        path = folder / name
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)
        if text is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def job_variables(folder: Path, name: str, event: object, sha: str) -> dict[str, str]:
    """The variables of a job, whose event file is written into a folder."""
    (folder / "event.json").write_text(json.dumps(event))
    return {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_REPOSITORY": "owner/tool",
        "GITHUB_RUN_ID": "1234",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_JOB": "agent",
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_SHA": sha,
    }


class CiJob:
    """A job."""

    def __init__(self, folder: Path, name: str, event: object, sha: str) -> None:
        """Write its event file, beside a checkout that the caller makes at :attr:`checkout`."""
        self.home, self.checkout = folder / "home", folder / "checkout"
        self.home.mkdir(exist_ok=True)
        give_state(self.home / ".local" / "state" / "lockgate")
        self.event_file = folder / "event.json"
        programs = folder / "bin"
        programs.mkdir(exist_ok=True)
        (programs / "codex").write_text(_CODEX)
        (programs / "codex").chmod(0o755)
        self.environ = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": str(self.home),
            "LOCKGATE_RESIDENT": "off",
            **job_variables(folder, name, event, sha),
        }

    def lockgate(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the command in the checkout, as a step of the job does."""
        return forked.run_text(words, cwd=self.checkout, env={**self.environ, **environ})

    def registered(self, client: str, event: str) -> str:
        """The command that the client was told to run for an event."""
        files = {
            "claude-code": ".claude/settings.json",
            "codex": ".codex/hooks.json",
            "gemini-cli": ".gemini/settings.json",
            "copilot-cli": ".copilot/hooks/lockgate.json",
            "opencode": ".config/opencode/plugins/lockgate.js",
        }
        text = (self.home / files[client]).read_text()
        if client == "opencode":
            import shlex

            words = json.loads(text.partition("const COMMAND = ")[2].partition(";\n")[0])
            return shlex.join([*words, "--event", event])
        (entry,) = json.loads(text)["hooks"][event]
        command: Any = entry["bash"] if "bash" in entry else entry["hooks"][0]["command"]
        assert isinstance(command, str)
        return command


def issue_event(user: dict[str, Any], association: str, body: str = "x") -> dict[str, Any]:
    """An issue that somebody has opened."""
    issue = {"number": 7, "comments": 0, "title": "help", "body": body, "user": user, "author_association": association}
    return {"action": "opened", "issue": issue, "repository": REPOSITORY, "sender": user}


def push_event(before: str, after: str, author: str = "owner") -> dict[str, Any]:
    """A push of one commit to the default branch."""
    pushed = {"id": after, "message": "Mend it", "author": {"username": author}, "committer": {"username": author}}
    return {
        "ref": "refs/heads/main",
        "before": before,
        "after": after,
        "pusher": {"name": "owner"},
        "commits": [pushed],
        "head_commit": pushed,
        "repository": REPOSITORY,
        "sender": OWNER,
    }


def pull_request_event(base: str, *, fork: bool) -> dict[str, Any]:
    """A pull request by a stranger from a fork, or by the owner from a branch."""
    user, association = (STRANGER, "NONE") if fork else (OWNER, "OWNER")
    request = {
        "number": 3,
        "comments": 0,
        "review_comments": 0,
        "title": "t",
        "body": "b",
        "user": user,
        "author_association": association,
        "head": {"ref": "x", "repo": {"id": 11 if fork else 10}},
        "base": {"sha": base, "repo": {"id": 10}},
    }
    return {"action": "opened", "number": 3, "pull_request": request, "repository": REPOSITORY, "sender": user}
