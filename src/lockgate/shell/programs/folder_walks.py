"""Follows walks through folders that leave something out: ``grep -r --exclude-dir=NAME``, ``tar --exclude=PATH``.

Only the gate's own state can be left out. All else that a walk meets counts in full. A link below the folder may lead
into what is left out under another name, so a walk that follows links leaves nothing out.
"""

from __future__ import annotations

import posixpath

from lockgate.core.model import EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.globs import name_matches, names_meet
from lockgate.resources.path_spelling import absolute, folders, has_state_below, is_inside
from lockgate.resources.paths import OWN_BELOW, OWN_STATE
from lockgate.shell.effects import files
from lockgate.shell.state.abstract_text import PLAIN
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.knowledge.options import Option

_OUT, _NEXT, _GLOB, _FOLLOWS = "left-out", "left-out-next", "left-out-glob", "follows-links"
_ONLY, _NOT = "only-names", "not-names"
_HIDDEN = "takes-hidden"
_MORE_THAN_NAMES = "/{\\"
"""Marks with which a pattern says more than a name does: folders, or several names."""
_FOLLOWING = frozenset({"-R", "--dereference-recursive"})
"""Options that go down into folders, and into links as well."""


def leave_out(call: ProgramCall, words: list[Arg], before: int) -> None:
    """Take back the effects on the gate's state where a walk leaves it out; else say how it can be left out.

    Args:
        call: The command.
        words: The folders.
        before: How many effects there were before these were found.
    """
    found = call.own[before:]
    if all(effect.rule != OWN_BELOW for effect in found):
        return
    options = call.matched.options
    follows = any(each.role == _FOLLOWS or (each.role == "recursive" and each.name in _FOLLOWING) for each in options)
    above = [word for word in words if _has_state_below(call, word)]
    if above and not (follows or call.matched.unknown) and all(_leaves_out_state(call, word) for word in above):
        call.own[before:] = [effect for effect in found if effect.rule != OWN_BELOW]
        return
    how = _tell_how_to_exclude(call)
    call.own[before:] = [
        effect._replace(because=f"{effect.because}; {how}") if effect.rule == OWN_BELOW else effect for effect in found
    ]


def _has_state_below(call: ProgramCall, word: Arg) -> bool:
    """Whether the gate's state may lie below a folder."""
    around = call.machine.around
    if word.static is None or word.glob or word.loose:
        return True
    return any(has_state_below(form, around) for cwd in call.scope.cwds for form in folders(word.text, cwd, around))


def record_secret_names(call: ProgramCall, words: list[Arg]) -> None:
    """Record that files with secrets are read where only files of some names are: ``grep -r --include=.env KEY``."""
    names = [
        name for name in (*_option_values(call, _ONLY), *_option_values(call, _GLOB)) if name and name[0] not in "!^"
    ]
    for name in names:
        for word in words:
            path = f"{word.text.rstrip('/')}/{name.lstrip('/')}"
            found = files.read(Arg(path, glob=True), call.machine, call.scope)
            call.own += [effect for effect in found if effect.kind is EffectKind.READ_SECRET]


def _leaves_out_state(call: ProgramCall, word: Arg) -> bool:
    """Whether each folder of the gate's state that lies below a folder is left out."""
    around = call.machine.around
    if word.static is None or word.glob or word.loose:
        return False
    for cwd in call.scope.cwds:
        folder = absolute(word.text, cwd, around)
        if folder is None or around.realpath(folder) != folder:
            return False
        if _takes_others(call, word):
            continue
        patterns = [*_names(call), *_paths(call, word, folder), *_globs(call), *_list_hidden_names(call)]
        for state in around.state_paths:
            names = state[len(folder.rstrip("/")) + 1 :].split("/")
            if not is_inside(state, folder) or not any(_ends_in(pattern, names) for pattern in patterns):
                return False
    return True


def _takes_others(call: ProgramCall, word: Arg) -> bool:
    """Whether only files of some names are taken, and none of the gate's has such a name."""
    # Where the first is one that leaves out, what no pattern is for is taken (grep).
    listed = [option for option in call.matched.options if option.role in (_ONLY, _NOT)]
    wanted = [_text(option) for option in listed if option.role == _ONLY] if listed and listed[0].role == _ONLY else []
    wanted += [text for text in _option_values(call, _GLOB) if not text.startswith("!")]
    return bool(wanted) and all(wanted) and not any(_means_state(call, word, name) for name in wanted)


def _means_state(call: ProgramCall, word: Arg, name: str) -> bool:
    """Whether a pattern is also for a file of the gate's state below a folder, or for a folder on the way to it."""
    if name[:1] in ("!", "^") or any(mark in name for mark in _MORE_THAN_NAMES):
        return True
    # Some programs can be told to ignore case.
    name = name.casefold().rstrip("/")
    found = files.read(Arg(f"{word.text.rstrip('/')}/{PLAIN}/{name}"), call.machine, call.scope)
    on_the_way = {part.casefold() for state in call.machine.around.state_paths for part in state.split("/")}
    return any(effect.rule in (OWN_BELOW, OWN_STATE) for effect in found) or any(
        names_meet(part, name) for part in on_the_way
    )


def _names(call: ProgramCall) -> Iterator[list[str]]:
    """Names of folders that are left out wherever they are."""
    for text in _option_values(call, _OUT):
        if text and "/" not in text.rstrip("/"):
            yield [text.rstrip("/")]


def _list_hidden_names(call: ProgramCall) -> Iterator[list[str]]:
    """Hidden names, for a program that leaves them out until it is told otherwise, be it by a pattern."""
    given = [option.role for option in call.matched.options]
    able = any(role == _HIDDEN for role, _ in call.entry.options.values())
    if able and _HIDDEN not in given and all(text.startswith("!") for text in _option_values(call, _GLOB)):
        yield [".*"]


def _globs(call: ProgramCall) -> Iterator[list[str]]:
    """Names that patterns with ``!`` leave out. Other patterns take something in again, and then none counts.

    A pattern with a slash inside is matched from another folder, so it does not count.
    """
    globs = list(_option_values(call, _GLOB))
    if all(text.startswith("!") for text in globs):
        yield from ([name] for name in (text[1:].rstrip("/") for text in globs) if name and "/" not in name)


def _paths(call: ProgramCall, word: Arg, folder: str) -> Iterator[list[str]]:
    """Ends of paths that an option leaves out of the operands behind it; from the root it is a path's beginning."""
    for option in call.matched.options:
        text = _text(option) if option.role == _NEXT else ""
        # A slash at its end matches nothing: folders are compared without one.
        if not text or text.endswith("/") or not _stands_before(call, option, word):
            continue
        if not text.startswith("/"):
            yield text.split("/")
        elif word.text.startswith(("/", "~")) and text.startswith(f"{folder.rstrip('/')}/"):
            yield ["", *text[len(folder.rstrip("/")) + 1 :].split("/")]


def _option_values(call: ProgramCall, role: str) -> Iterator[str]:
    """The values of the options of a role, empty where one is not known."""
    return (_text(option) for option in call.matched.options if option.role == role)


def _text(option: Option) -> str:
    """The value of an option, empty where it is not known."""
    return (option.value[0].static or "") if option.value else ""


def _stands_before(call: ProgramCall, option: Option, word: Arg) -> bool:
    """Whether an option stands before an operand, wherever else it stands too."""
    text = option.value[0].text
    spelt = (text, f"{option.name}={text}")
    at = [index for index, arg in enumerate(call.args) if arg.text in spelt]
    here = next((index for index, arg in enumerate(call.args) if arg is word), -1)
    return bool(at) and max(at) < here


def _ends_in(pattern: list[str], names: list[str]) -> bool:
    """Whether the path of a folder on the way ends in a pattern. One with an empty name first is a whole path."""
    if pattern[0] == "":
        return len(pattern) <= len(names) + 1 and all(map(name_matches, pattern[1:], names))
    starts = range(len(names) - len(pattern) + 1)
    return any(all(map(name_matches, pattern, names[start:])) for start in starts)


def _tell_how_to_exclude(call: ProgramCall) -> str:
    """How to leave the state out, for a person and for the agent."""
    state = posixpath.basename(call.machine.around.state_paths[0])
    for name, (role, _) in call.entry.options.items():
        if role in (_OUT, _NEXT):
            return f"`{name}={state}` leaves it out"
        if role == _GLOB:
            return f"`{name} '!{state}'` leaves it out"
    return "name the folders that are meant"
