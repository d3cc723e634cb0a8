"""Finds the revisions that ``gh stack`` of GitHub takes out: the branches of the stacks in its own file.

It keeps them in ``.git/gh-stack``, as JSON (``internal/stack/schema.json`` of github/gh-stack). Without that file there
is no stack, and the command has nothing to take out.
"""

from __future__ import annotations

import json

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.programs.git_revisions import INDEX, RevisionChange

if TYPE_CHECKING:
    from lockgate.resources.host_view import HostView, Repository
    from lockgate.shell.programs.git_revisions import Changes, CommandWords

_FILE = ".git/gh-stack"
_MOVES = frozenset({"up", "down", "top", "bottom", "trunk", "switch", "checkout"})
_MOST = 60
"""Branches, and commits of all of them, that are looked at."""


def stack_changes(said: CommandWords, repository: Repository | None, around: HostView) -> Changes:
    """What a command writes into the work tree; ``None`` where the file of stacks does not tell.

    What it fetches comes from the configured remote, and was not made here.

    Args:
        said: The command.
        repository: The repository that it runs in.
        around: The view of this machine.
    """
    verb = said.verb.removeprefix("stack/")
    file = around.read_script(f"{repository.root}/{_FILE}") if repository is not None else None
    if repository is None or file is None or verb not in {*_MOVES, "rebase"}:
        return None
    stacks = _stacks(file.text)
    if not stacks or sum(map(len, stacks)) > _MOST:
        return None
    moved = [RevisionChange(branch, INDEX) for stack in stacks for branch in stack]
    if verb in _MOVES:
        named = said.operands[0] if verb == "checkout" and said.operands else ""
        return [*moved, *([RevisionChange(named, INDEX)] if named and repository.knows(named) else [])]
    picked: list[RevisionChange] = []
    for trunk, *branches in stacks:
        for branch in branches:
            commits = repository.commits(trunk, branch)
            if commits is None or len(picked) + len(commits) * len(branches) > _MOST:
                return None
            below = (trunk, *branches)
            picked += [
                RevisionChange(name, f"{name}^1", merges=True, ours=other) for name in commits for other in below
            ]
    return [*moved, *picked]


def _stacks(text: str) -> list[list[str]]:
    """The branches of each stack, its trunk first; none where the text is no such file."""
    try:
        held = json.loads(text)["stacks"]
        stacks = [[str(ref["branch"]) for ref in (stack["trunk"], *stack["branches"])] for stack in held]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    # A name that git takes for something else is none of a branch.
    plain = all(name and name[0] not in "-@:/." and "@{" not in name for stack in stacks for name in stack)
    return stacks if plain else []
