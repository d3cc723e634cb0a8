"""What a word does in its place: the roles that the knowledge gives to options and operands.

A role is a function of the invocation, the words that have it and the option's name (empty for operands).
``docs/knowledge.md`` lists them all; a test holds that list to this table.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lockgate.analysis.shell import files
from lockgate.analysis.shell.contact import dynamic_value
from lockgate.analysis.shell.knowledge import table
from lockgate.analysis.shell.scope import ENVIRONMENT, OPAQUE, PLAIN, Arg, blur, harmless, known
from lockgate.analysis.shell.variables import variable_effects
from lockgate.model import Effect, EffectKind

if TYPE_CHECKING:
    from lockgate.analysis.shell.invoke import Invocation

_MOST_LINES = 12
_SSH_RUNNING = frozenset(
    "proxycommand localcommand permitlocalcommand knownhostscommand match include pkcs11provider securitykeyprovider xauthlocation".split()
)
_LOCAL_MODULES = frozenset({"json.tool", "py_compile", "compileall", "tokenize", "ast", "this", "calendar", "tabnanny"})
"""Modules of the standard library that only read, and whose names nobody shadows by accident."""
Role = Callable[["Invocation", list[Arg], str], None]
_SHELLS = {"shell": "bash", "sh": "sh", "bash": "bash", "zsh": "zsh", "dash": "sh"}
_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def _read(call: Invocation, words: list[Arg], _: str) -> None:
    call.read_words += words
    for word in words:
        call.own += files.read(word, call.machine, call.scope, below=call.recursive)


def _read_below(call: Invocation, words: list[Arg], _: str) -> None:
    call.read_words += words
    for word in words:
        call.own += files.read(word, call.machine, call.scope, below=True)


def _name(call: Invocation, words: list[Arg], _: str) -> None:
    call.read_words += words


def _write(call: Invocation, words: list[Arg], _: str) -> None:
    for word in words:
        call.own += files.write(word, call.machine, call.scope)


def _edit(call: Invocation, words: list[Arg], option: str) -> None:
    _read(call, words, option)
    _write(call, words, option)


def _into(call: Invocation, words: list[Arg], _: str) -> None:
    sources = [word for word in call.matched.operands if word not in words]
    for word in words:
        call.own += files.write_into(word, sources, call.machine, call.scope)


def _move(call: Invocation, words: list[Arg], option: str) -> None:
    _read(call, words, option)
    for word in words:
        call.own += files.write(word, call.machine, call.scope, below=True)


def _delete(call: Invocation, words: list[Arg], _: str) -> None:
    for word in words:
        call.own += files.delete(word, call.machine, call.scope, below=call.recursive)


def _recursive(call: Invocation, _words: list[Arg], _: str) -> None:
    call.recursive = True


def _url(call: Invocation, words: list[Arg], _: str) -> None:
    call.contact.targets += [("url", word) for word in words]


def _host(call: Invocation, words: list[Arg], _: str) -> None:
    call.contact.targets += [("host", word) for word in words]


def _lookup(call: Invocation, words: list[Arg], _: str) -> None:
    call.contact.targets += [("lookup", word) for word in words]


def _send(call: Invocation, words: list[Arg], option: str) -> None:
    call.contact.sends = call.contact.sends or f"`{call.what} {option}` sends data"
    for word in words:
        name = re.match(r"(?:[\w.-]+=?)?@([^;]+)", word.text)
        if name is not None:
            call.own += files.read(Arg(name.group(1)), call.machine, call.scope)


def _send_file(call: Invocation, words: list[Arg], option: str) -> None:
    _send(call, [], option)
    _read(call, words, option)


def _static(call: Invocation, words: list[Arg], option: str) -> None:
    """A header, a cookie, a user name: nothing leaves where it is wholly known, for the person can read it."""
    for word in words:
        if dynamic_value(word) or word.text.startswith("@"):
            _send(call, [word], option)


def _method(call: Invocation, words: list[Arg], option: str) -> None:
    if not words or words[0].static is None or words[0].text.upper() not in _READING_METHODS:
        _send(call, [], f"{option} {words[0].shown if words else ''}".rstrip())


def _proxy(call: Invocation, words: list[Arg], _: str) -> None:
    call.contact.rerouted = True
    call.contact.sends = call.contact.sends or f"`{call.what}` is told to go through another machine"


def _reroute(call: Invocation, words: list[Arg], option: str) -> None:
    call.contact.rerouted = True
    call.contact.sends = call.contact.sends or f"`{option}` decides elsewhere where `{call.what}` connects to"


def _command(call: Invocation, words: list[Arg], _: str) -> None:
    for word in words:
        call.machine.run_text(word.text, call.scope.copy(), "sh", call.stdin)


def _action(call: Invocation, words: list[Arg], option: str) -> None:
    """``tar --checkpoint-action``: ``exec=command`` runs something, the others print."""
    for word in words:
        if word.text.startswith("exec="):
            _command(call, [Arg(word.text[5:])], option)
        elif not known(word.text):
            call.opaque(f"what `{option}` does is only known when it runs")


def _program(call: Invocation, words: list[Arg], _: str) -> None:
    for word in words:
        _invoke(call, [*(Arg(text) for text in word.text.split()), Arg(PLAIN)])


def _argv(call: Invocation, words: list[Arg], _: str) -> None:
    if not call.entry.feeds:
        _invoke(call, words)
    elif call.placeholder:
        for line in _lines(call):
            _invoke(call, [Arg(word.text.replace(call.placeholder, line), word.glob) for word in words])
    else:
        _invoke(call, [*words, *_fed(call)])


def _lines(call: Invocation) -> list[str]:
    """The input of ``xargs -I``, line by line."""
    lines = (call.stdin if call.stdin is not None else OPAQUE).splitlines() or [""]
    return lines if len(lines) <= _MOST_LINES else [blur(*lines)]


def _fed(call: Invocation) -> list[Arg]:
    """The operands that ``xargs`` reads from its standard input."""
    text = call.stdin
    if text is None:
        return [Arg(OPAQUE)]
    if OPAQUE in text:
        return [Arg(OPAQUE)]
    return [Arg(piece) for piece in text.replace("\\", OPAQUE).replace("'", "").replace('"', "").split()][:100]


def _exec(call: Invocation, words: list[Arg], _: str) -> None:
    roots = [word.text for word in call.matched.operands if not word.text.startswith("-")]
    root = roots[0] if len(roots) == 1 and harmless(roots[0]) else "."
    found = f"{root.rstrip('/') or ''}/{PLAIN}"
    marks = re.compile(r"\{(?:|/|//|\.|/\.)\}")
    _invoke(call, [Arg(marks.sub(lambda _: found, word.text), word.glob) for word in words])


def _shell_argv(call: Invocation, words: list[Arg], _: str) -> None:
    call.machine.run_text(" ".join(word.text for word in words), call.scope.copy(), "sh", call.stdin)


def _lock_argv(call: Invocation, words: list[Arg], option: str) -> None:
    """``flock FILE command...`` or ``flock FILE -c 'text'``; a number instead of the file runs nothing."""
    _write(call, words[:1], option)
    rest = words[1:]
    if rest and rest[0].text in ("-c", "--command"):
        _command(call, rest[1:2], option)
    elif rest:
        _invoke(call, rest)


def _split(call: Invocation, words: list[Arg], _: str) -> None:
    _invoke(call, [*(Arg(text) for word in words for text in word.text.split()), *call.matched.operands])


def _invoke(call: Invocation, words: list[Arg]) -> None:
    from lockgate.analysis.shell.invoke import invoke

    while words and re.match(r"[A-Za-z_]\w*=", words[0].text) and call.entry.name in ("env", "sudo", "doas"):
        words = leading_assignments(call, words)
    call.ran = True
    call.shapes.append(invoke(call.machine, call.scope, words, call.stdin, functions=False) if words else "")


def leading_assignments(call: Invocation, words: list[Arg]) -> list[Arg]:
    """Keep what ``NAME=value`` words before a command do; return the words after them."""
    position = 0
    while position < len(words) and (match := re.match(r"([A-Za-z_]\w*)=(.*)", words[position].text, re.DOTALL)):
        variable_effects(match.group(1), match.group(2), call.machine, call.scope)
        position += 1
    return words[position:]


def _script(call: Invocation, words: list[Arg], _: str) -> None:
    for word in words[:1]:
        if word.text not in ("-", "/dev/stdin"):
            call.own.append(
                Effect(EffectKind.EXECUTE, word.shown, call.rule, f"`{call.what}` runs the file `{word.shown}`")
            )
        elif call.stdin is not None:
            run_code(call, call.entry.stdin or "code", call.stdin)


def run_code(call: Invocation, language: str, text: str) -> None:
    """Keep what inline code does, in a language that can be read; otherwise that it cannot be seen through."""
    from lockgate.analysis.shell.inline import LANGUAGES

    if language in _SHELLS:
        call.shapes.append(call.machine.run_text(text, call.scope.copy(), _SHELLS[language]))
    elif language in LANGUAGES and known(text):
        LANGUAGES[language](call, text)
    elif not (language in ("awk", "sed", "jq") and _filled_in(language, text)):
        call.opaque(f"`{call.what}` runs code that cannot be seen through")
    else:
        LANGUAGES[language](call, text.replace(PLAIN, "x").replace(ENVIRONMENT, "x"))


def _filled_in(language: str, text: str) -> bool:
    """Whether the unknown parts of a small program are only names and numbers."""
    return OPAQUE not in text and language in ("awk", "sed", "jq")


def _code(language: str) -> Role:
    def role(call: Invocation, words: list[Arg], _: str) -> None:
        for word in words[:1]:
            run_code(call, language, word.text)

    return role


def _cwd(call: Invocation, words: list[Arg], _: str) -> None:
    call.scope = call.scope.copy()
    for word in words:
        folders = [_joined(cwd, word, call) for cwd in call.scope.cwds]
        call.scope.cwds = tuple(dict.fromkeys(folders))


def _joined(cwd: str, word: Arg, call: Invocation) -> str:
    text = word.text
    if word.static is None:
        return ""
    if text.startswith("/"):
        return posixpath.normpath(text)
    return posixpath.normpath(f"{cwd}/{text}") if cwd else ""


def _config(call: Invocation, words: list[Arg], _: str) -> None:
    """``git -c key=value``: some keys run what they hold."""
    for word in words:
        key, _, value = word.text.partition("=")
        kind = _config_kind(key)
        if not known(key):
            call.opaque("which setting this changes is only known when it runs, and some run a program")
        elif kind == "alias":
            _alias(call, value)
        elif kind == "command" and known(value):
            if value:
                call.machine.run_text(value, call.scope.copy(), "sh")
        elif kind:
            call.opaque(f"the setting `{key}` decides what runs or where data goes")


def _alias(call: Invocation, value: str) -> None:
    if value.startswith("!"):
        call.machine.run_text(value[1:], call.scope.copy(), "sh")
    else:
        _invoke(call, [Arg("git"), *(Arg(text) for text in value.split())])


def _config_kind(key: str) -> str:
    lowered = key.lower()
    for pattern, kind in table("git_config").items():
        head, star, tail = pattern.partition("*")
        if lowered == pattern or (star and lowered.startswith(head) and lowered.endswith(tail) and len(lowered) >= len(pattern)):
            return str(kind)
    return ""


def _config_write(call: Invocation, words: list[Arg], _: str) -> None:
    """``git config key value`` with a key that executes leaves something that runs later."""
    if not words:
        return
    key = words[0].text
    if (not known(key) or _config_kind(key)) and len(words) > 1:
        because = f"the setting `{words[0].shown}` decides what later commands run or where they send data"
        call.own.append(Effect(EffectKind.PERSIST, words[0].shown, "program:git/config", because))


def _push_to(call: Invocation, words: list[Arg], _: str) -> None:
    """Where ``git push`` sends to: it sends in any case, but ``ext::`` runs a command too."""
    if any("::" in word.text for word in words[:1]):
        call.opaque("a remote helper such as `ext::` runs a command")


def _remote(call: Invocation, words: list[Arg], _: str) -> None:
    """A configured name, an address, or a folder; ``ext::`` runs a command."""
    for word in words[:1]:
        text = word.text
        if "::" in text:
            call.opaque("a remote helper such as `ext::` runs a command")
        elif word.static is None:
            call.contact.targets.append(("url", word))
        elif "://" in text or text.startswith("git@") or re.match(r"[\w.-]+@?[\w.-]*:(?!\\)", text):
            url = text if "://" in text else "ssh://" + text.replace(":", "/", 1)
            if not url.startswith("file://"):
                call.contact.targets.append(("remote", Arg(url)))
        elif not text.startswith(("/", ".", "~")):
            call.add("fetch-known")


def _transfer(call: Invocation, words: list[Arg], _: str) -> None:
    """Operands of ``rsync``: a colon before the first slash names another machine; else files, the last one written."""
    far = [word for word in words if re.match(r"[^/]*:", word.text) or not harmless(word.text)]
    if far:
        call.add("connect")
    near = [word for word in words if word not in far]
    for word in near:
        call.own += files.read(word, call.machine, call.scope, below=True)
    if near and near[-1] is words[-1]:
        call.own += files.write_into(near[-1], near[:-1], call.machine, call.scope)


def _ssh_option(call: Invocation, words: list[Arg], _: str) -> None:
    """``ssh -o Key=value``: some keys run a program."""
    for word in words:
        key = re.split(r"[= ]", word.text, maxsplit=1)[0].lower()
        if not known(key) or key in _SSH_RUNNING:
            call.opaque(f"the ssh option `{word.shown}` runs a program")


def _delete_found(call: Invocation, _words: list[Arg], _: str) -> None:
    """``find -delete``: what it finds is below the folders, and named like the pattern."""
    names = [value for option in call.matched.options if option.name in ("-name", "-iname") for value in option.value]
    for root in call.matched.operands or [Arg(".")]:
        call.own += files.delete(root, call.machine, call.scope, below=not names)
        for name in names:
            found = Arg(f"{root.text.rstrip('/')}/{name.text}", glob=True)
            call.own += files.write(found, call.machine, call.scope)


def _write_first(call: Invocation, words: list[Arg], option: str) -> None:
    _write(call, words[:1], option)


def _process(call: Invocation, words: list[Arg], _: str) -> None:
    """Processes by name, number or file: the gate's own must not be ended."""
    for word in words:
        if "lockgate" in word.text.lower():
            call.add("self")


def _apt_option(call: Invocation, words: list[Arg], _: str) -> None:
    """``apt -o``: hooks and methods run programs; the person is told of any such setting."""
    for word in words:
        if not known(word.text) or re.search(r"invoke|hook|method|command|pager|proxy|dir::bin", word.text, re.IGNORECASE):
            call.opaque(f"the setting `{word.shown}` runs a program")


def _module(call: Invocation, words: list[Arg], _: str) -> None:
    """``python -m NAME``: a module that is a known program counts as that program; it may also be the project's own."""
    from lockgate.analysis.shell.knowledge import lookup

    name = words[0].static if words else None
    if name is None:
        call.opaque("which module this runs is only known when it runs")
    elif name in _LOCAL_MODULES:
        return
    else:
        call.opaque(f"`python -m {name}` runs code that can lie in this folder")
        if lookup(name) is not None:
            _invoke(call, [Arg(name), *call.matched.operands])


def _placeholder(call: Invocation, words: list[Arg], _: str) -> None:
    call.placeholder = words[0].text if words else "{}"


def _assignment(call: Invocation, words: list[Arg], _: str) -> None:
    leading_assignments(call, words)


ROLES: dict[str, Role] = {
    "name": _name,
    "read": _read,
    "read-below": _read_below,
    "write": _write,
    "edit": _edit,
    "into": _into,
    "move": _move,
    "delete": _delete,
    "recursive": _recursive,
    "url": _url,
    "host": _host,
    "lookup": _lookup,
    "send": _send,
    "send-file": _send_file,
    "static": _static,
    "method": _method,
    "proxy": _proxy,
    "reroute": _reroute,
    "command": _command,
    "program": _program,
    "action": _action,
    "argv": _argv,
    "exec": _exec,
    "shell-argv": _shell_argv,
    "split": _split,
    "lock-argv": _lock_argv,
    "script": _script,
    "code": _code("code"),
    "code-shell": _code("shell"),
    "code-sh": _code("sh"),
    "code-zsh": _code("zsh"),
    "code-python": _code("python"),
    "code-sed": _code("sed"),
    "code-awk": _code("awk"),
    "code-jq": _code("jq"),
    "code-perl": _code("perl"),
    "cwd": _cwd,
    "config": _config,
    "config-write": _config_write,
    "remote": _remote,
    "push-to": _push_to,
    "placeholder": _placeholder,
    "apt-option": _apt_option,
    "module": _module,
    "delete-found": _delete_found,
    "write-first": _write_first,
    "process": _process,
    "transfer": _transfer,
    "ssh-option": _ssh_option,
    "assignment": _assignment,
}
