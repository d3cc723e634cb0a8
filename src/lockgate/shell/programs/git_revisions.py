"""Reads which files a command of git takes out of which revision."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockgate.resources.host_view import Repository
    from lockgate.shell.knowledge.options import Option

INDEX = ""
"""How the index is named among the revisions."""


class RevisionChange(Record):
    """Files that are written because they stand in a revision."""

    theirs: str
    """The revision."""
    base: str | None = None
    """The revision in which what is the same stays as it lies there; ``None``: all is written."""
    paths: tuple[str, ...] | None = None
    """Only these, as they are written; ``None``: all of it."""
    removes: bool = True
    """Whether files that it does not have are removed, as far as git knows them."""
    merges: bool = False
    """Whether it is merged with another revision, so that names that were changed there lead elsewhere."""
    ours: str = "HEAD"
    """The revision that it is merged with."""
    root: str = ""
    """The folder that is filled, as it is written, where that is not the work tree itself."""


class CommandWords(Record):
    """The words of a command, by what they are."""

    verb: str
    operands: tuple[str, ...]
    behind: int
    """How many of the operands stand behind ``--``."""
    options: tuple[Option, ...]

    def has_option(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return any(option.name in names for option in self.options)

    def value(self, *names: str) -> str | None:
        """The value of the last of these options; ``None`` where none is given."""
        values = [option.value[0].text for option in self.options if option.name in names and option.value]
        return values[-1] if values else None


Changes = list[RevisionChange] | None
"""What is written: nothing where it is empty; ``None`` where the words do not tell."""

_MAKES = ("-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan")
_ENDS = ("--abort", "--skip")
_PLAIN_MERGES = frozenset({"ours", "theirs", "ort", "recursive", "resolve", "patience", "ignore-space-change",
                           "ignore-all-space", "ignore-space-at-eol", "renormalize", "no-renormalize"})  # fmt: skip
"""Strategies, and options of them, with which no file gets a name that none of the revisions has."""
_STRATEGIES = ("-s", "-X", "--strategy", "--strategy-option")
_LOOKING = frozenset({"list", "show", "drop", "clear", "create", "store"})
"""What ``git stash`` does that leaves the work tree alone."""


def find_changes(said: CommandWords, repository: Repository | None) -> Changes:
    """Find what a command of git writes into the work tree.

    Args:
        said: The command.
        repository: Tells whether a word is a revision; ``None`` where nobody can.
    """
    reader = _VERBS.get(said.verb)
    return reader(said, repository) if reader else None


def _reset(said: CommandWords, _: Repository | None) -> Changes:
    return [RevisionChange(said.operands[0] if said.operands else "HEAD")] if len(said.operands) < 2 else None


def _switch(said: CommandWords, _: Repository | None) -> Changes:
    # What was changed and not committed is thrown away with these.
    base = None if said.has_option("-f", "--force", "--discard-changes") else INDEX
    if not said.operands:
        if said.has_option("--orphan"):
            return None if said.verb == "switch" else []
        return [] if base == INDEX else [RevisionChange("HEAD")]
    return [RevisionChange(_previous(said.operands[0]), base)] if len(said.operands) == 1 else None


def _previous(word: str) -> str:
    """A revision as git reads it: ``-`` is the branch before this one."""
    return "@{-1}" if word == "-" else word


def _checkout(said: CommandWords, repository: Repository | None) -> Changes:
    split = len(said.operands) - said.behind
    before, paths = said.operands[:split], said.operands[split:]
    if said.has_option(*_MAKES):
        return _switch(said, repository)
    if not said.behind and before[:1] and before[0].startswith(":/") and len(before[0]) > 2:
        # Files from the root on, or the last commit whose message has these words.
        return None
    if not paths and before:
        # Without ``--`` the first word is a revision where there is one of this name.
        names = before[0] if len(before) > 1 or not _is_path(before[0], repository) else ""
        if names and len(before) == 1:
            return _switch(said, repository)
        named = bool(names) and (repository is None or repository.knows(names))
        before, paths = (before[:1], before[1:]) if named else ((), before)
    if said.has_option("--pathspec-from-file", "-p", "--patch", "-m", "--merge") or len(before) > 1:
        return None
    if not paths:
        return _switch(said, repository)
    return [RevisionChange(_previous(before[0]) if before else INDEX, paths=paths, removes=False)]


def _is_path(word: str, repository: Repository | None) -> bool:
    """Whether the only word of a checkout names files."""
    if word in (".", "..") or word.endswith("/") or ":" in word or any(mark in word for mark in "*?["):
        return True
    return word != "-" and repository is not None and not repository.knows(word)


def _restore(said: CommandWords, _: Repository | None) -> Changes:
    if said.has_option("--pathspec-from-file", "-p", "--patch", "-m", "--merge") or not said.operands:
        return None
    default = "HEAD" if said.has_option("-S", "--staged") else INDEX
    source = said.value("-s", "--source") or default
    return [RevisionChange(_previous(source), paths=said.operands, removes=not said.has_option("--overlay"))]


def _merge(said: CommandWords, repository: Repository | None) -> Changes:
    if said.has_option("--continue", "--quit"):
        return []
    if said.has_option(*_ENDS) or len(said.operands) != 1 or repository is None or not _is_plain_merge(said):
        return None
    theirs = _previous(said.operands[0])
    base = repository.base("HEAD", theirs)
    return None if base is None else [RevisionChange(theirs, base, merges=True)]


def _is_plain_merge(said: CommandWords) -> bool:
    """Whether a merge gives no file a name that none of the revisions has."""
    values = {option.value[0].text for option in said.options if option.name in _STRATEGIES and option.value}
    return values <= _PLAIN_MERGES


def _pick(said: CommandWords, repository: Repository | None) -> Changes:
    if said.has_option("--quit"):
        return []
    if said.has_option(*_ENDS, "--continue") or not said.operands or not _is_plain_merge(said):
        return None
    picked: list[str] = []
    for word in said.operands:
        one, dots, other = word.partition("..")
        commits = repository.commits(one or "HEAD", other or "HEAD") if dots and repository else (word,)
        if commits is None or "..." in word or word.startswith(("^", "-")):
            return None
        picked += commits
    parent = said.value("-m", "--mainline") or "1"
    pairs = [(name, f"{name}^{parent}") for name in picked]
    return [
        RevisionChange(before, after, merges=True)
        if said.verb == "revert"
        else RevisionChange(after, before, merges=True)
        for after, before in pairs
    ]


def _rebase(said: CommandWords, repository: Repository | None) -> Changes:
    if said.has_option("--quit"):
        return []
    is_unclear = said.has_option(*_ENDS, "--continue", "--edit-todo", "--root") or not _is_plain_merge(said)
    if is_unclear or repository is None or not 0 < len(said.operands) < 3:
        return None
    upstream, branch = _previous(said.operands[0]), said.operands[1] if len(said.operands) == 2 else "HEAD"
    onto = said.value("--onto") or upstream
    commits = repository.commits(upstream, branch)
    if commits is None or "..." in onto:
        return None
    picked = [RevisionChange(name, f"{name}^1", merges=True, ours=onto) for name in commits]
    return [RevisionChange(onto, INDEX), RevisionChange(branch, INDEX), *picked]


def _stash(said: CommandWords, _: Repository | None) -> Changes:
    verb, *rest = said.operands or ("push",)
    if verb in _LOOKING:
        return []
    if verb in ("pop", "apply") and len(rest) < 2:
        stash = rest[0] if rest else "0"
        stash = f"stash@{{{stash}}}" if stash.isdecimal() else stash
        # Its third parent holds what git did not know, where that was put away, too.
        return [RevisionChange(stash, f"{stash}^1", merges=True), RevisionChange(f"{stash}^3", removes=False)]
    if verb in ("push", "save") and not said.has_option("-u", "--include-untracked", "-a", "--all", "-p", "--patch"):
        return [RevisionChange("HEAD"), RevisionChange(INDEX)]
    return None


def _pull(said: CommandWords, _: Repository | None) -> Changes:
    # What comes from another machine was not made here.
    return None if any(_is_folder(word) for word in said.operands[:1]) else []


def is_here(word: str) -> bool:
    """Whether an address that git is given is a folder, or a bundle, of this machine."""
    return _is_folder(word) or ":" not in word


def _is_folder(word: str) -> bool:
    return word.startswith((".", "/", "~", "file:")) or ("/" in word and ":" not in word)


def _sparse(said: CommandWords, _: Repository | None) -> Changes:
    return [] if said.operands[:1] in (("list",), ("check-rules",)) else None


def _worktree(said: CommandWords, repository: Repository | None) -> Changes:
    if said.has_option("--no-checkout", "--orphan"):
        return []
    if len(said.operands) == 2:
        return [RevisionChange(_previous(said.operands[1]), root=said.operands[0])]
    if len(said.operands) != 1 or repository is None:
        return None
    # Without a revision a branch of the folder's name is taken where there is one.
    name = said.operands[0].rstrip("/").rpartition("/")[2]
    makes = said.has_option("-b", "-B", "-d", "--detach")
    return [RevisionChange("HEAD" if makes or not repository.knows(name) else name, root=said.operands[0])]


_VERBS: dict[str, Callable[[CommandWords, Repository | None], Changes]] = {
    "reset": _reset,
    "switch": _switch,
    "checkout": _checkout,
    "restore": _restore,
    "merge": _merge,
    "cherry-pick": _pick,
    "revert": _pick,
    "rebase": _rebase,
    "stash": _stash,
    "worktree/add": _worktree,
    "pull": _pull,
    "sparse-checkout": _sparse,
}
"""Subcommand of git to what reads its words."""


def count_behind_dashes(words: Sequence[str], operands: int) -> int:
    """How many of the operands of a command stand behind ``--``."""
    return min(operands, len(words) - words.index("--") - 1) if "--" in words else 0
