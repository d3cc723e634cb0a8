"""Describes what a git command does to branches, here and in other repositories. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from lockgate.core.lazy import lazy_re
from lockgate.core.record import Record
from lockgate.policy.git.commands import GitCommandLine, find_checked_out, reader_of
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN, is_known

ANY = "*"
"""Some branch: which one is not known."""
CURRENT = "\x00current"
"""The branch that is checked out."""
_UNKNOWN = lazy_re(f"[{OPAQUE}{PLAIN}{ENVIRONMENT}]+")
_REVISION = lazy_re(r"[~^]|@\{|^@$|^[0-9a-f]{7,40}$|^(?:refs|heads|origin|upstream|remotes)/")
_PATH = lazy_re(r"^\.{0,2}/|/$|^\.$|/|\.[A-Za-z][A-Za-z0-9]*$")
KINDS = ("push", "force_push", "delete_remote", "pull", "rebase", "rewrite")
"""What a configuration has a rule for."""
DELETE = "delete"
"""Removing a branch here: only protected branches have a rule for it."""


class Act(Record):
    """A change that a git command makes to branches."""

    kind: str
    """One of :data:`KINDS`, or :data:`DELETE`."""
    branch: str = ""
    """The branch that it changes, with ``*`` for what is not known of it; empty where it changes none."""
    depends: str = ""
    """The word that is only known when it runs, where it would have to be an option for this to happen."""


def acts_of(line: GitCommandLine, default: Callable[[], Sequence[Act]]) -> list[Act]:
    """What a line does.

    Args:
        line: The line.
        default: What a push without refspecs does.
    """
    if not is_known(line.name):
        return [Act(kind, ANY, line.name) for kind in KINDS]
    reader = reader_of(line)
    return list(_READERS[reader](line, default)) if reader else []


# ---------------------------------------------------------------- names
def branch_of(ref: str) -> str:
    """The branch that a name stands for; empty where it is no branch's."""
    if ref in ("HEAD", "@"):
        return CURRENT
    for prefix in ("refs/heads/", "heads/"):
        if ref.startswith(prefix):
            return _UNKNOWN.sub("*", ref.removeprefix(prefix))
    if ref.startswith(("refs/", "tags/")):
        return ""
    return _UNKNOWN.sub("*", ref)


def push_acts(refspec: str) -> list[Act]:
    """What pushing a refspec does there."""
    plain = refspec.removeprefix("+")
    source, colon, target = plain.partition(":")
    if plain.startswith("^"):
        return []
    branch = ANY if plain == ":" else branch_of(target or source)
    found = [Act("push", branch)]
    if refspec.startswith("+"):
        found.append(Act("force_push", branch))
    if colon and not source and target:
        found.append(Act("delete_remote", branch))
    return found


# ---------------------------------------------------------------- subcommands
def _push(line: GitCommandLine, default: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    if line.has("dry") and not line.has("real") and not line.matched.surprises:
        return
    for word in line.matched.surprises:
        yield from (Act(kind, ANY, word.text) for kind in ("push", "force_push", "delete_remote"))
    found = [act for refspec in _refspecs(line.operands[1:]) for act in push_acts(refspec)]
    if line.has("mirror"):
        found += [Act("push", ANY), Act("force_push", ANY), Act("delete_remote", ANY)]
    if line.has("all"):
        found.append(Act("push", ANY))
    if line.has("tags"):
        found.append(Act("push"))
    if line.has("prune"):
        found.append(Act("delete_remote", ANY))
    found = found or list(default())
    yield from found
    for act in found:
        if act.kind == "push" and line.has("force"):
            yield Act("force_push", act.branch)
        if act.kind == "push" and line.has("delete"):
            yield Act("delete_remote", act.branch)


def _refspecs(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        yield f"refs/tags/{next(rest, '')}" if word == "tag" else word


def _send(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    # Without refspecs, all branches that both sides have.
    return _push(line, lambda: [Act("push", ANY)])


def _subtree(line: GitCommandLine, default: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    operands = line.matched.operands
    if operands and operands[0].text == "push":
        yield from _push(line._replace(matched=line.matched._replace(operands=operands[1:])), default)


def _bridge(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    if line.operands[:1] and line.operands[0] in ("dcommit", "submit", "set-tree", "commit-diff"):
        yield Act("push")


def _pull(line: GitCommandLine, default: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    yield Act("pull")
    if line.has("rebase") and "false" not in line.values("rebase"):
        # What is put anew is nobody's yet but one's own: no branch loses what it had.
        yield Act("rebase")
    yield from _fetch(line, default)


def _fetch(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    if line.has("dry") or line.has("many"):
        return
    for refspec in _refspecs(line.operands[1:]):
        target = refspec.partition(":")[2]
        if target and (refspec.startswith("+") or line.has("force")):
            yield Act("rewrite", branch_of(target))


def _rebase(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    if line.has("control"):
        return
    yield Act("rebase", branch_of(find_checked_out(line)) if find_checked_out(line) else CURRENT)


def _reset(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    if line.matched.surprises:
        yield Act("rewrite", CURRENT, line.matched.surprises[0].text)
    if len(line.operands) != 1 or line.operands[0] in ("HEAD", "@"):
        return
    word = line.operands[0]
    # Without a mode it may be a path as well; what looks like one is.
    if line.has("mode") or _REVISION.search(word) or not _PATH.search(word):
        yield Act("rewrite", CURRENT)


def _commit(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    for word in line.matched.surprises:
        yield Act("rewrite", CURRENT, word.text)
    if line.has("rewrite") and not line.has("dry"):
        yield Act("rewrite", CURRENT)


def _push_everything(_: GitCommandLine, __: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    yield Act("rewrite", ANY)


def _branch(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    names = [branch_of(f"heads/{name}") for name in line.operands]
    for word in line.matched.surprises:
        yield from (Act(kind, ANY, word.text) for kind in (DELETE, "rewrite"))
    if line.has("remote") or (line.has("lists") and not line.has("delete")):
        return
    over = line.has("force") or bool(line.matched.given & {"-M", "-C"})
    if line.has("delete"):
        yield from (Act(DELETE, name) for name in names)
    elif line.has("move"):
        yield Act(DELETE, names[0] if len(names) > 1 else CURRENT)
    if over and names and not line.has("delete"):
        copies = line.has("move") or line.has("copy") or line.has("copy-over")
        yield Act("rewrite", names[-1] if copies else names[0])


def _switch(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    yield from (Act("rewrite", branch_of(f"heads/{name}")) for name in line.values("over"))


def _worktree(line: GitCommandLine, default: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    if line.operands[:1] == ["add"]:
        yield from _switch(line, default)


def _update_ref(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    if line.has("many") or line.matched.surprises:
        yield Act("rewrite", ANY)
    ref = line.operands[0] if line.operands else ""
    if ref == "HEAD" or ref.startswith("refs/heads/") or not is_known(ref):
        yield Act(DELETE if line.has("delete") else "rewrite", branch_of(ref))


def _symbolic_ref(line: GitCommandLine, _: Callable[[], Sequence[Act]]) -> Iterator[Act]:
    ref = line.operands[0] if len(line.operands) > 1 or line.has("delete") else ""
    if ref.startswith("refs/heads/"):
        yield Act("rewrite", branch_of(ref))


def _push_nothing(*_: object) -> Iterator[Act]:
    return iter(())


_READERS: Mapping[str, Callable[[GitCommandLine, Callable[[], Sequence[Act]]], Iterator[Act]]] = {
    "push": _push,
    "send": _send,
    "subtree": _subtree,
    "bridge": _bridge,
    "pull": _pull,
    "fetch": _fetch,
    "rebase": _rebase,
    "reset": _reset,
    "commit": _commit,
    "everything": _push_everything,
    "branch": _branch,
    "switch": _switch,
    "worktree": _worktree,
    "update_ref": _update_ref,
    "symbolic_ref": _symbolic_ref,
    "config": _push_nothing,
}
