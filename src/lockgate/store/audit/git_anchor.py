"""A branch of a git repository in which the audit's head is kept: a place that the machine does not own.

Each installation has a file of its own there, so that many can share one branch. No work tree is made, and nothing that
lies in the repository is run or believed.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256

from lockgate.core.errors import AuditError
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.ownership import make_folders
from lockgate.system.programs import run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FOLDER = "anchors"
"""Below the state folder: a bare repository for each remote."""
_SECONDS = 20.0
"""How long one run of git may take."""
_TRIES = 3
"""So often a note is pushed anew: another installation may have pushed meanwhile."""
_REMOTE = re.compile(r"(https|ssh|file)://[!-~]+|/[!-~]+|[\w.-]+@[\w.-]+:[!-~]+", re.ASCII)
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/-]{0,99}")
_SETTINGS = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false")
_MOST = 4096


class GitAnchor:
    """One branch of one remote."""

    def __init__(self, options: Mapping[str, Any], state: str, home: str) -> None:
        """Nothing is run yet.

        Args:
            options: ``remote`` and ``branch``, as the configuration says them.
            state: The state folder.
            home: The person's home folder, where git finds how they log in.

        Raises:
            AuditError: The remote or the branch is none.
        """
        self._remote, self._branch = str(options.get("remote", "")), str(options.get("branch", "lockgate-anchor"))
        if not _REMOTE.fullmatch(self._remote) or not _BRANCH.fullmatch(self._branch) or "//" in self._branch:
            raise AuditError("an anchor in git takes a remote (https://, ssh://, file://, user@host:path) and a branch")
        name = sha256(f"{self._remote}\n{self._branch}".encode()).hexdigest()[:16]
        self._folder = os.path.join(state, FOLDER, f"{name}.git")
        self._environ = _environ(home)
        self._ref = f"refs/heads/{self._branch}"

    def read(self, name: str) -> str | None:
        """What the remote has of one installation; ``None`` where it has nothing.

        Raises:
            AuditError: It cannot be reached.
        """
        tip = self._fetch()
        return self._read_note(tip, name) if tip else None

    def write(self, name: str, text: str) -> None:
        """Put a note there, beside those of others.

        Raises:
            AuditError: It cannot be reached, or takes no push.
        """
        problem = ""
        for _ in range(_TRIES):
            tip = self._fetch()
            commit = self._commit(tip, name, text)
            # What another one has pushed meanwhile is never lost: without force, the remote refuses.
            problem, _ = self._git("push", "--quiet", "--no-verify", "--", self._remote, f"{commit}:{self._ref}")
            if not problem:
                return
        raise AuditError(problem)

    def _fetch(self) -> str:
        """The branch's commit as the remote has it; empty where it has no such branch."""
        make_folders(os.path.dirname(self._folder))
        if not os.path.isdir(os.path.join(self._folder, "objects")):
            self._must("init", "--quiet", "--bare", "--template=", self._folder)
        listed = self._must("ls-remote", "--", self._remote, self._ref)
        tip = next((line.split()[0] for line in listed.splitlines() if line.split()[1:] == [self._ref]), "")
        if tip:
            self._must("fetch", "--quiet", "--no-tags", "--depth=1", "--", self._remote, self._ref)
        return tip

    def _read_note(self, tip: str, name: str) -> str | None:
        problem, text = self._git("cat-file", "blob", f"{tip}:{name}")
        return None if problem else text[:_MOST]

    def _commit(self, tip: str, name: str, text: str) -> str:
        blob = self._must("hash-object", "-w", "--stdin", given=text).strip()
        before = self._must("ls-tree", tip).splitlines() if tip else []
        rows = [row for row in before if row.partition("\t")[2] != name]
        tree = self._must("mktree", given="\n".join((*rows, f"100644 blob {blob}\t{name}")) + "\n").strip()
        parent = ["-p", tip] if tip else []
        return self._must("commit-tree", tree, *parent, "-m", "head").strip()

    def _must(self, *words: str, given: str = "") -> str:
        problem, out = self._git(*words, given=given)
        if problem:
            raise AuditError(problem)
        return out

    def _git(self, *words: str, given: str = "") -> tuple[str, str]:
        """What is wrong, empty where nothing is; and what it said."""
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        where = [] if words[0] == "init" else [f"--git-dir={self._folder}"]
        done = run(["git", *settings, *where, *words], _SECONDS, given=given, cwd="/", environ=self._environ)
        if done.code == 0 and not done.problem:
            return "", done.out
        lines = [line for line in done.err.splitlines() if line.strip()]
        return f"git: {done.problem or (lines[-1][:200] if lines else f'exit status {done.code}')}", done.out


def _environ(home: str) -> dict[str, str]:
    """What git is told. A project can set variables for hooks, and so for a gate that a hook starts: none goes on."""
    who = {f"GIT_{role}_{what}": "lockgate" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    agent = {"SSH_AUTH_SOCK": os.environ["SSH_AUTH_SOCK"]} if "SSH_AUTH_SOCK" in os.environ else {}
    return {
        "HOME": home,
        "PATH": "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin",
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_ALLOW_PROTOCOL": "https:ssh:file",
        **who,
        **agent,
    }
