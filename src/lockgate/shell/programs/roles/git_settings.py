"""Applies roles of words that are settings, of git or of a tracer. Some hold commands or say where data goes."""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.effects.unlisted import OPTION, effect_of_unlisted
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.programs.roles.running import invoke_words
from lockgate.shell.state.abstract_text import is_known, show
from lockgate.shell.state.run import RunText
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role
    from lockgate.shell.state.run import Running

_NOBODY_SAYS = "no table says what the setting `{key}` does to git"
_KEPT = "a contained command cannot change the settings of git"
_CONFIG_VERBS = frozenset({"set", "list", "get", "unset", "rename-section", "remove-section"})


def apply_config(call: ProgramCall, words: list[Arg], _: str) -> Running[None]:
    """``git -c key=value``: some keys run what they hold."""
    for word in words:
        key, _, value = word.text.partition("=")
        kind = config_kind(key)
        if not is_known(key):
            call.add_opaque("which setting this changes is only known when it runs, and some run a program")
        elif kind == "alias":
            yield from _run_alias(call, value)
        elif kind == "command" and is_known(value):
            if value:
                yield RunText(value, call.scope.new_shell(), "sh")
        elif kind:
            call.add_opaque(f"the setting `{key}` decides what runs or where data goes")
        elif "." in key and not is_plain(key):
            call.own.append(effect_of_unlisted(word.shown, OPTION, _NOBODY_SAYS.format(key=show(key)[:80])))


def _run_alias(call: ProgramCall, value: str) -> Running[None]:
    if value.startswith("!"):
        yield RunText(value[1:], call.scope.new_shell(), "sh")
    else:
        yield from invoke_words(call, [Arg("git"), *(Arg(text) for text in value.split())])


def config_kind(key: str) -> str:
    """What a setting of git holds (``git_config`` in the tables), empty where it neither runs nor sends anything."""
    lowered = key.lower()
    for pattern, kind in table("git_config").items():
        head, star, tail = pattern.partition("*")
        if lowered == pattern or (
            star and lowered.startswith(head) and lowered.endswith(tail) and len(lowered) >= len(pattern)
        ):
            return str(kind)
    return ""


def is_plain(key: str) -> bool:
    """Whether a setting of git is listed as one that runs nothing and leads nowhere (``git_plain_settings``)."""
    section, _, rest = key.lower().partition(".")
    listed = str(table("git_plain_settings").get(section, "")).split()
    return rest in listed or any(
        star and rest.startswith(head) and rest.endswith(tail) and len(rest) > len(head) + len(tail)
        for head, star, tail in (pattern.partition("*") for pattern in listed)
    )


def apply_config_write(call: ProgramCall, words: list[Arg], _: str) -> None:
    """``git config key value`` with a key that executes leaves something that runs later."""
    if words and words[0].text in ("edit", "rename-section"):
        call.add("persist")
        return
    if words and words[0].text in _CONFIG_VERBS:
        words = words[1:]
    if not words:
        return
    key = words[0].text
    if len(words) < 2:
        return
    if not is_known(key) or config_kind(key):
        because = f"the setting `{words[0].shown}` decides what later commands run or where they send data"
        call.own.append(Effect(EffectKind.PERSIST, words[0].shown, "program:git/config", because))
    elif "." in key and not is_plain(key):
        effect = effect_of_unlisted(words[0].shown, OPTION, _NOBODY_SAYS.format(key=show(key)[:80]))
        call.own.append(effect._replace(uncontainable=_KEPT))


def apply_strace_expression(call: ProgramCall, words: list[Arg], option: str) -> None:
    """``strace -e KEYWORD=...``: two keywords change what calls of the traced program do."""
    for word in words:
        if not is_known(word.text) or word.text.partition("=")[0].strip() in ("inject", "fault"):
            call.add_opaque(f"`{option} {word.shown}` changes what the traced program does")


FUNCTIONS: dict[str, Role] = {
    "strace-expression": apply_strace_expression,
    "config": apply_config,
    "config-write": apply_config_write,
}
"""The function that applies each role."""
