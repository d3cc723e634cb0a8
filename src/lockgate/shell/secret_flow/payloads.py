"""Tells secrets that a program sends from those that only let it in.

A private key that ``scp -i`` names, a password for ``docker login``, a token in an ``Authorization`` header for the
service that it belongs to: these are credentials in use. All else that reaches a program that sends is a payload.
Tables say which options, services and names there are (``tables.yaml``).
"""

from __future__ import annotations

import re
from functools import cache

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.addresses import host_of
from lockgate.shell.knowledge.lookup import table
from lockgate.shell.knowledge.options import assign_roles
from lockgate.shell.secret_flow.credential_owners import FAR, FAR_COPIES, Held, belongs, is_declared
from lockgate.shell.state.abstract_text import ENVIRONMENT, OPAQUE, PLAIN, is_known, marks_of, without_marks

if TYPE_CHECKING:
    from typing import Literal

    from lockgate.shell.knowledge.call import ProgramCall

_UNKNOWN = re.escape(OPAQUE + ENVIRONMENT + PLAIN)
_WHERE = lazy_re(rf"(?:[a-z]+://)?[{_UNKNOWN}]+(?:[/:?].*)?", re.DOTALL)
"""An address whose host is not known at all. Such a text says where something is sent, and is not sent itself."""
_UNKNOWNS = lazy_re(rf"[{_UNKNOWN}]+")
_HEADER = lazy_re(r"([\w-]+)\s*[:=]")
"""How a header or a field begins, with its name."""
_LETS_IN = lazy_re(
    r"auth|token|api[_-]?key|secret|access[_-]?key|subscription-key|cookie|app-?key|password", re.IGNORECASE
)
"""A header, a parameter or an option of such a name holds what lets a program in."""
_OPTION = lazy_re(r"--?[\w-]*(?:token|passw(?:or)?d|pass|api-?key|auth|bearer|access-key|credentials?)", re.IGNORECASE)
"""An option of such a name takes a credential."""
_PARAMETER = lazy_re(rf"[?&]([\w-]+)=[{_UNKNOWN}]|/bot[{_UNKNOWN}]")
"""A parameter of an address whose value is not known, with its name; or the token of a Telegram bot."""
_FIELD = lazy_re(rf"&([\w-]+)=[{_UNKNOWN}]")
"""A field of a form whose value is not known, with its name."""
_USER = lazy_re(r"([a-z][a-z0-9+.-]*://)([^/?#@]*)@([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
"""An address with a user: scheme, user and password, host, and the rest."""
_INDEXES = frozenset({"-i", "--index-url", "--extra-index-url", "--index", "--default-index", "--registry"})
"""Options that name another place for packages, with what lets one in there."""
_CLIENT = "client_id username user scope code redirect_uri assertion code_verifier audience"
_OF_CLIENT = frozenset(_CLIENT.split())
"""What is sent beside a credential where a token is asked for."""
_NAMING = frozenset({"url", "dsn", "send-to", "endpoint", "host"})
"""Roles of words that say where a program connects to."""


class SecretPlace(Record):
    """Where a program gets a secret: in a word, in a file that it reads, or on its standard input."""

    how: Literal["word", "file", "input"]
    option: str = ""
    """The option that the word belongs to, empty for an operand."""
    word: str = ""
    """The word, or the name of the file."""


def is_payload(call: ProgramCall, place: SecretPlace, held: Held, effect: Effect) -> bool:
    """Whether a secret that reaches a program leaves with what it sends.

    Args:
        call: The program, after it was looked at.
        place: Where it gets the secret.
        held: What the secret is.
        effect: The effect with which it sends.
    """
    if is_declared(call, effect):
        return False
    if place.how == "word" and _is_user_of_index(call, place, held, effect):
        return False
    if call.contact.rerouted:
        return True
    takes_in = _words_listed("credential_options", call.what)
    if not takes_in.isdisjoint({"*", place.option or "*", f"{place.how}:{place.option}"}):
        return False
    if place.how == "file" and call.args[0].text.rpartition("/")[2] in FAR_COPIES and _is_copied_to(call, place.word):
        return False
    if place.how == "input":
        return "input" not in takes_in or not belongs(held, call, effect, general=True)
    if place.how == "file":
        # What only downloads from its own registry keeps the files that it reads to itself.
        return effect.kind is not EffectKind.FETCH or effect.what != call.what
    return _leaves_in_word(call, place, held, effect)


def _is_user_of_index(call: ProgramCall, place: SecretPlace, held: Held, effect: Effect) -> bool:
    """Whether a secret is the password of a package index, in the very address that an option gives to the program."""
    user = _match_unknown_user(place.word.removeprefix(f"{place.option}="))
    return place.option in _INDEXES and user is not None and _is_password_for_host(user, call, held, effect)


def _match_unknown_user(text: str) -> re.Match[str] | None:
    """The parts of an address whose user or password is not known; ``None`` for any other text."""
    user = _USER.fullmatch(text)
    return user if user is not None and _is_unknown(user.group(2)) else None


def _is_password_for_host(user: re.Match[str], call: ProgramCall, held: Held, effect: Effect) -> bool:
    """Whether the password in an address belongs to the address's own host, and stands nowhere else in it."""
    host = host_of(f"https://{without_marks(user.group(3))}/")
    rest = marks_of(user.group(3) + user.group(4))
    return not rest and belongs(held, call, effect, general=True, host=host or "?")


def _leaves_in_word(call: ProgramCall, place: SecretPlace, held: Held, effect: Effect) -> bool:
    """Whether a secret in a word is sent as content, and is no credential for the server that gets it."""
    text = _UNKNOWNS.sub(OPAQUE, without_marks(place.word))
    role = _role(call, place)
    if role in _NAMING and (held.given or held.name.startswith("$")) and _WHERE.fullmatch(text):
        return False
    if (user := _match_unknown_user(place.word)) is not None:
        return not _is_password_for_host(user, call, held, effect)
    if role == "url":
        return not (_holds_credentials_only(_PARAMETER, text) and belongs(held, call, effect, general=False))
    if role == "send" and _asks_for_token(call):
        credentials = _holds_credentials_only(_FIELD, f"&{text}", _OF_CLIENT)
        return not (credentials and belongs(held, call, effect, general=True))
    header = _HEADER.match(text.removeprefix(f"{place.option}="))
    lets_in = (
        place.option in _words_listed("token_options", call.what)
        or (place.option != "" and _OPTION.fullmatch(place.option) is not None)
        or (role in ("static", "httpie") and header is not None and _LETS_IN.search(header.group(1)) is not None)
        or (place.option == "-c" and "extraheader" in text.lower())
    )
    return not (lets_in and belongs(held, call, effect, general=True))


def _holds_credentials_only(parameter: re.Pattern[str], text: str, others: frozenset[str] = frozenset()) -> bool:
    """Whether every unknown part of a text is the value of a parameter that takes a credential."""
    found = [match.group(1) for match in parameter.finditer(text)]
    if not found or len(re.findall(rf"[{_UNKNOWN}]", text)) > len(found):
        return False
    return all(name in (None, "key", "appid") or name in others or _LETS_IN.search(name) for name in found)


def _asks_for_token(call: ProgramCall) -> bool:
    """Whether what is sent asks an OAuth server for a token (RFC 6749, ``grant_type``)."""
    return any(re.search(r"(?:^|&)grant_type=", without_marks(arg.text)) for arg in call.args[1:])


def _is_copied_to(call: ProgramCall, file: str) -> bool:
    """Whether a file of this machine is where a copy goes to."""
    last = call.matched.operands[-1:]
    return [without_marks(arg.text) for arg in last] == [file] and not FAR.fullmatch(file)


def _is_unknown(text: str) -> bool:
    """Whether a part of a text is not known, or comes from a secret."""
    return not is_known(text) or bool(marks_of(text))


def _role(call: ProgramCall, place: SecretPlace) -> str:
    """The role of the word in which the secret stands."""
    for option in call.matched.options:
        if option.name == place.option:
            return option.role
    for role, words in assign_roles(list(call.entry.operands), call.matched.operands):
        if any(word.text == place.word for word in words):
            return role
    return ""


@cache
def _words_listed(name: str, what: str) -> frozenset[str]:
    """What a table lists for a command, and for those that it is a subcommand of."""
    rows, words = table(name), what.split()
    starts = (" ".join(words[:count]) for count in range(1, len(words) + 1))
    return frozenset(item for start in starts for item in rows.get(start, "").split())
