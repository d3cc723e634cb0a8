"""Finds the files that a command of git takes out of a revision, which no word of it names.

A revision can hold anything: whoever may run git can make one of files that lie nowhere (``git mktree``). So all that
is put over the work tree counts as names that nobody has said. Where the repository tells what the revision holds,
only that counts which would be another file, in a place that matters, than lies there now.
"""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.path_spelling import absolute, is_inside
from lockgate.resources.paths import write_effects
from lockgate.resources.protected_paths import PathGuard
from lockgate.shell.effects.copies import is_in_project
from lockgate.shell.effects.glob_matches import is_disk_unchanged
from lockgate.shell.programs.git_revisions import (
    INDEX,
    CommandWords,
    RevisionChange,
    count_behind_dashes,
    find_changes,
    is_here,
)
from lockgate.shell.state.findings import effects_for_keyword
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lockgate.resources.host_view import Repository
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.knowledge.options import Option

_LOOKS = frozenset(
    ["status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "describe", "blame", "shortlog"]
)
"""Verbs of git behind which revisions, index and work tree are as they were."""
_ANY = frozenset({"-b", "-B", "-c", "-C", "--create", "--force-create", "-m", "--message"})
"""Options whose value says nothing of what is written: a new branch's name, a message."""
_MOST = 3
"""How many files of a revision are named to a person."""
_RULE = "shell:revision"
_OTHER = "the revision has another `{name}` than lies there now"
_HELD = "the repository that is copied has `{name}`"
_BESIDE = frozenset({"git/worktree/add", "git/clone"})
_NOT_INSIDE = "`{what}` makes a repository, which a contained command cannot"
_EMPTY = frozenset({"--bare", "--mirror", "-n", "--no-checkout"})
"""Options with which a copy of a repository gets no work tree."""


def check_written(call: ProgramCall, options: list[Option]) -> str:
    """What a command that takes files out of a revision comes to: ``write-tree``, or empty where it writes none.

    What it puts into places that matter, as far as that can be told, is kept beside it.
    """
    star = _clone_source(call) if call.entry.name == "git/clone" else _star(call, options)
    if star:
        call.machine.disk.note_unnamed()
    if star and call.entry.name in _BESIDE and all(arg.static is not None for arg in call.matched.operands[:1]):
        why = _NOT_INSIDE.format(what=call.what)
        call.own += [effect._replace(uncontainable=why) for effect in effects_for_keyword(star, call.what, call.rule)]
        return ""
    return star


def _clone_source(call: ProgramCall) -> str:
    """What a copy of a repository of this machine brings. What comes from elsewhere was not made here."""
    source, *target = call.matched.operands or [Arg("")]
    word = source.text.removeprefix("file://")
    if source.static is None or not is_here(source.text) or not _EMPTY.isdisjoint(call.matched.given):
        return ""
    cwds = call.scope.cwds
    around = call.machine.around
    path = absolute(word, cwds[0], around) if len(cwds) == 1 and cwds[0] else None
    into = target[0] if target else Arg(word.rstrip("/").removesuffix("/.git").rpartition("/")[2].removesuffix(".git"))
    root = absolute(into.text, cwds[0], around) if path and into.static is not None else None
    if root is not None and not is_in_project(root, around):
        return ""
    repository = around.repository(path) if path and root else None
    if root is None or repository is None or around.realpath(path or "") != around.realpath(repository.root):
        return "write-tree"
    named = [option for option in call.matched.options if option.name in ("-b", "--branch")]
    branches = [arg.text for option in named for arg in option.value]
    tree = repository.tree(branches[-1] if branches else "HEAD")
    if tree is None or not _is_settled(call):
        return "write-tree"
    own = is_inside(around.workspace or around.home, repository.root)
    kept = PathGuard(around).filter_protected(around.realpath(root), tree)
    kept = [name for name in kept if not (own and repository.holds(name, tree.get(name, "")))]
    call.own += [effect for name in kept[:_MOST] for effect in _effects(call, f"{root}/{name}", name, _HELD)]
    return ""


def _star(call: ProgramCall, options: list[Option]) -> str:
    said = _read_known_words(call, options)
    repository = _repository(call)
    if call.entry.name.startswith("gh/"):
        from lockgate.shell.programs.gh_stacks import stack_changes

        found = stack_changes(said, repository, call.machine.around) if said else None
    else:
        found = find_changes(said, repository) if said else None
    if found is None:
        return "write-tree"
    if repository is None:
        return "" if all(change.paths and all(map(_is_one_file, change.paths)) for change in found) else "write-tree"
    if found and not _is_settled(call):
        return "write-tree"
    for change in found:
        brought = _brought(call, change, repository)
        if brought is None:
            return "write-tree"
        call.own += brought
    return ""


def _read_known_words(call: ProgramCall, options: list[Option]) -> CommandWords | None:
    """The words, where all of them are known."""
    texts = [arg.static for arg in call.args]
    matched = call.matched
    dynamic = any(arg.static is None for arg in matched.operands) or any(
        arg.static is None for option in matched.options if option.name not in _ANY for arg in option.value
    )
    if dynamic or matched.unknown or matched.surprises or any(option.role == "config" for option in options):
        return None
    operands = tuple(arg.text for arg in matched.operands)
    behind = count_behind_dashes([text or "" for text in texts], len(operands))
    return CommandWords(call.entry.name.partition("/")[2], operands, behind, tuple(call.matched.options))


def _is_one_file(path: str) -> bool:
    """Whether a word names one file, by its letters."""
    folder = path.endswith(("/", "/.", "/..")) or path in (".", "..")
    return not folder and path[:1] != ":" and not any(mark in path for mark in "*?[\\")


def _repository(call: ProgramCall) -> Repository | None:
    """The repository, where it is known in which folder this runs."""
    cwds = call.scope.cwds
    return call.machine.around.repository(cwds[0]) if len(cwds) == 1 and cwds[0] else None


def _is_settled(call: ProgramCall) -> bool:
    """Whether the repository is as it is now when the command runs: nothing before it, or beside it, changes it."""
    machine = call.machine
    if not is_disk_unchanged(machine, call.before - 1, also="git", made=call.made):
        return False
    before = [command.words for command in machine.findings.commands if command.words[0].rpartition("/")[2] == "git"]
    return all(len(words) > 1 and words[1] in _LOOKS for words in before)


def _brought(call: ProgramCall, change: RevisionChange, repository: Repository) -> list[Effect] | None:
    """What a change puts into places that matter; ``None`` where that cannot be told."""
    trees = _trees(change, repository)
    if trees is None:
        return None
    theirs, base, known = trees
    around = call.machine.around
    guard = PathGuard(around)
    root = repository.root
    if change.root:
        found = absolute(change.root, call.scope.cwds[0], around)
        if found is None:
            return None
        root = around.realpath(found)
    kept = [
        name for name in guard.filter_protected(root, {**theirs, **known}) if _is_meant(name, change, call, repository)
    ]
    if change.merges and base is not None and _may_be_renamed(guard, repository, change.ours, base):
        return None
    if any(name.rpartition("/")[2] == "HEAD" for name in theirs):
        call.machine.disk.note_unnamed()
    put = [
        name
        for name in kept
        if not (base is not None and base.get(name) == theirs.get(name))
        and not repository.holds(name, theirs.get(name, ""))
    ]
    return [effect for name in put[:_MOST] for effect in _effects(call, f"{root}/{name}", name)]


def _trees(
    change: RevisionChange, repository: Repository
) -> tuple[Mapping[str, str], Mapping[str, str] | None, Mapping[str, str]] | None:
    """The files of a change, those it starts from where it does, and those that git may remove."""
    theirs = repository.tree(change.theirs)
    base = None if change.base is None else repository.tree(change.base)
    if theirs is None or (change.base is not None and base is None):
        return None
    if not change.removes or change.root:
        return theirs, base, {}
    if base is not None:
        return theirs, base, base
    index, head = repository.tree(INDEX), repository.tree("HEAD")
    return None if index is None or head is None else (theirs, None, {**index, **head})


def _may_be_renamed(guard: PathGuard, repository: Repository, revision: str, base: Mapping[str, str]) -> bool:
    """Whether a merge may put a file into a place that matters under a name that only this side has.

    Git follows files, and whole folders, that this side has given other names.
    """
    ours = repository.tree(revision)
    return ours is None or bool(guard.filter_protected(repository.root, [name for name in ours if name not in base]))


def _is_meant(name: str, change: RevisionChange, call: ProgramCall, repository: Repository) -> bool:
    """Whether a file is among those that the words of a command mean. A pattern can mean any."""
    if change.paths is None:
        return True
    for word in change.paths:
        path = absolute(word, call.scope.cwds[0], call.machine.around)
        if path is None or word[:1] == ":" or any(mark in word for mark in "*?[\\"):
            return True
        if is_inside(f"{repository.root}/{name}", path):
            return True
    return False


def _effects(call: ProgramCall, path: str, name: str, what: str = _OTHER) -> list[Effect]:
    """What it means that a revision brings a file to a place where it is run, or trusted, later."""
    because = what.format(name=name)
    why = [effect.because for effect in write_effects(path, "", call.machine.around)]
    return [Effect(EffectKind.PERSIST, name, _RULE, f"{because}: {why[0]}" if why else because)]
