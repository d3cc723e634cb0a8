"""Describes the effects of a skill: Claude Code runs its commands and attaches its files, and asks no hook.

It runs a command in backquotes behind an exclamation mark and a space, and a fence with that mark. The call's arguments
are put into them as text; what stands behind an ``@`` is read, in the arguments as well, which come behind a text that
has no place for them. Seen with version 2.1.329, which takes the mark off a command in the arguments.
Reference: https://code.claude.com/docs/en/skills
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label
from lockgate.resources.host_view import HostView

_COMMAND = lazy_re(r"```!\s*?\n(?P<block>.*?)\n?[ \t]*```|(?<!\S)!`(?P<line>[^`]+)`", re.DOTALL)
_WORD = lazy_re(r"\$ARGUMENTS\[(?P<at>\d{1,4})\]|\$(?P<number>\d{1,4})(?!\w)")
_NAMES = lazy_re(r"^arguments:(?P<names>(?:.*\n(?:[ \t]*-.*\n)*))", re.MULTILINE)
_NAME = lazy_re(r"[A-Za-z_]\w*")
_OTHER_SHELL = lazy_re(r"^shell:\s*[\"']?(?!bash)\w", re.MULTILINE)
_PLAIN = lazy_re(r"[\w\s./:@=,+#%-]*", re.ASCII)
"""Arguments that every way of splitting them splits alike."""
_MOST = 50
_MOST_IN_TEXT = 1000
"""Mentions in a skill's own text that are looked at."""
_FIRST = (0, 1)
"""What the first argument is called: ``$0`` is new, ``$1`` was before."""


def skill_effects(name: str, arguments: str, cwd: str, around: HostView) -> tuple[Effect, ...]:
    """What the commands in a skill do, and what comes in with it.

    Args:
        name: As the agent or the person calls it: ``NAME``, ``FOLDER:NAME``, ``PLUGIN:NAME``, with a slash or without;
            arguments may stand behind it.
        arguments: What it is called with beside.
        cwd: The folder that it is called in.
        around: The view of this machine; ``read_skills`` and ``nested_skills`` find its text.

    Returns:
        Of a skill whose text is not found what its arguments mention: those that come with the client run no commands.
    """
    name, _, rest = name.strip().removeprefix("/").partition(" ")
    given = " ".join(filter(None, (rest, arguments)))
    found: dict[Effect, None] = dict.fromkeys(_argument_effects(name, given, cwd, around)) if "@" in given else {}
    for text in dict.fromkeys((*around.read_skills(name, cwd), *(around.nested_skills(name) or ()))) if name else ():
        if text is None:
            found[_opaque(name, "its text cannot be read")] = None
            continue
        if "@" in text:
            found.update(dict.fromkeys(_mention_effects(text, given, cwd, around)))
        if "!`" in text or "```!" in text:
            found.update(dict.fromkeys(_effects_of_text(name, text, given, cwd, around)))
    return tuple(found)


def _argument_effects(name: str, arguments: str, cwd: str, around: HostView) -> Iterator[Effect]:
    """What the arguments mention."""
    from lockgate.analysis.prompts.mentions import find_mentions, mention_effects_of

    if sum(1 for _ in islice(find_mentions(arguments), _MOST + 1)) > _MOST:
        yield _opaque(name, f"its arguments mention more than {_MOST} files")
    yield from mention_effects_of(arguments, cwd, around)


def _mention_effects(text: str, arguments: str, cwd: str, around: HostView) -> Iterator[Effect]:
    """What a text mentions with the arguments in it."""
    from lockgate.analysis.prompts.mentions import mention_effects_of

    for first in _FIRST:
        yield from mention_effects_of(_fill_in(text, arguments, _names(text), first), cwd, around, _MOST_IN_TEXT)


def _effects_of_text(name: str, text: str, arguments: str, cwd: str, around: HostView) -> Iterator[Effect]:
    from lockgate.shell import analyse_shell

    if _OTHER_SHELL.search(text):
        yield _opaque(name, "its commands are for another shell")
    names = _names(text)
    if not _PLAIN.fullmatch(arguments) and any(
        _WORD.search(each) or names & _list_used_names(each) for each in _commands(text)
    ):
        yield _opaque(name, "its commands are put together from parts of its arguments")
    commands = dict.fromkeys(
        command for first in _FIRST for command in _commands(_fill_in(text, arguments, names, first))
    )
    if len(commands) > _MOST:
        yield _opaque(name, f"it has more than {_MOST} commands")
    for command in list(commands)[:_MOST]:
        yield from analyse_shell(command, cwd, around).effects


def _commands(text: str) -> Iterator[str]:
    for match in _COMMAND.finditer(text):
        yield match["block"] if match["block"] is not None else match["line"]


def _names(text: str) -> frozenset[str]:
    match = _NAMES.search(text)
    return frozenset(_NAME.findall(match["names"])) if match else frozenset()


def _list_used_names(command: str) -> frozenset[str]:
    return frozenset(_NAME.findall(command))


def _fill_in(text: str, arguments: str, names: frozenset[str], first: int) -> str:
    """A text with the arguments in it. A named one is given them all: which of them it is matters to few commands."""
    words = arguments.split()
    harmless = arguments.replace("```!", "``` \\!").replace("!`", "\\! `")

    def word(match: re.Match[str]) -> str:
        at = int(match["at"] or match["number"]) - first
        return words[at] if 0 <= at < len(words) else ""

    text = _WORD.sub(word, text).replace("$ARGUMENTS", harmless)
    for name in names:
        text = re.sub(rf"\${name}(?!\w)", lambda _: harmless, text)
    return text


def _opaque(name: str, why: str) -> Effect:
    because = f"the skill runs commands before it is read, and {why}"
    return Effect(EffectKind.EXECUTE, name, "skill:commands", because, gives=Label.UNTRUSTED)
