"""Classifies a value in a credential's place: is it one, or not?

What speaks for and against it is added up. A name that says "password" and a value that a person might choose are
enough together. So are a name that says "token" and a value that chance made; neither is alone. References,
placeholders, paths, types and text for people are refused whatever else speaks for them.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.patterns.credentials import names, randomness, values
from lockgate.patterns.credentials.data import read_words
from lockgate.patterns.credentials.names import KEY, NOTHING, PASS, PASSWORD, SECRET, TOKEN, NameKind
from lockgate.patterns.credentials.placeholders import is_placeholder, says_so
from lockgate.patterns.model import Candidate

ENOUGH = 3.0
"""The sum of evidence from which on a value counts as a credential. The weights' unit is this sum's."""
_RANDOM = 3.0
"""The value looks as if chance made it: with any name that may hold a credential this is enough."""
_MIXED = 1.0
"""Letters and digits, or signs between letters: what rules for passwords ask of people."""
_SIGNS = 0.5
"""Signs that no identifier has."""
_QUOTED = 0.5
"""A literal, not a name."""
_LOWER = 0.5
"""One word in small letters: labels for people begin with a capital."""
_WELL_KNOWN = 1.0
"""One of the passwords that people use most."""
_NAMES_ITSELF = -0.5
"""Unquoted, ``shop_password`` may be one, but is more often the name of one."""
_IDENTIFIER = -1.5
"""Unquoted and shaped like an identifier: code assigns variables so."""
_LINE = 0.5
"""Name and value are a whole line, as in YAML and environment files."""
_SET = 1.0
"""``DB_PASSWORD=`` and ``db.password=``: what environment files, shells and properties have, and code has not."""
_PHRASE = 0.5
"""Words with blanks or three with hyphens between them: what generators of pass phrases make, and no variable is."""
_RUN_TOGETHER = 0.5
"""``mysecretflaskkey``: names part their words."""
_CODE_BEHIND = -1.0
"""Unquoted with a comma or semicolon behind: an expression."""
_NUMBER = -1.5
"""Unquoted with nothing but digits: a setting, unless it is a whole line of one."""

_MOST = 512
"""Characters; what is longer is text."""
_LONGEST_NUMBER = 9
"""Digits of a number that a person may take for a password: counted up they are common ones."""
_APP_PASSWORD = lazy_re(r"[a-z]{4}(?: [a-z]{4}){3}$")
"""Google's format: https://support.google.com/accounts/answer/185833."""
_IDENTIFIER_SHAPE = lazy_re(r"[A-Za-z_][A-Za-z0-9_]*$")
_LINE_BEFORE = lazy_re(r"(?:^|\n)[ \t]*(?:- |export |set |ENV |ARG )?[ \t]*$")
_LINE_BEHIND = lazy_re(r"[ \t]*(?:#.*)?(?:\r?\n|$)")
_SETTING = lazy_re(r"[A-Z][A-Z0-9_]+$|[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]+$")
_WORDS = lazy_re(r"[A-Za-z]+(?:-[A-Za-z]+){2,}$")
_OF_A_TYPE = lazy_re(r"(?:::|\barn:[\w*/:-]*:)$")
_QUALIFIED = lazy_re(r"(?:::|\barn:[\w*/:-]*:|[\w*]:(?!\d{1,7}:)[\w*/-]*:)$")
"""Before the name of a type or a resource: ``AWS::IAM::AccessKey``, ``arn:aws:secretsmanager:*:*:secret``. A number is
that of a line, which searches and compilers print behind the name of a file."""
_WEAK_MARK = lazy_re(r"my|test(?:er|ing)?|dev|demo|local|default")
"""Words that people put into passwords, too: with digits they say nothing."""
_WALK = lazy_re(r"[A-Za-z]{3,}\d{2,6}[^A-Za-z0-9]?$")
"""Neighbours on the keyboard and then digits: people take these for passwords."""
_TOGETHER = lazy_re(r"[a-z]{12,}$")
_RUN_INTO_PASS = lazy_re(r"[a-z]+(?:pass|pwd)$")
"""``shoppass``: a name is ``shop_pass``."""
_PLAIN_WORD = lazy_re(r"[a-z]{5,}$")
_SIGN = lazy_re(r"[!@#$%^&*?+~]")
_CAN_BE_SAID = lazy_re(r"[^\W\d_][^\W\d_A-Z]*$")
_TOO_HARD = lazy_re(r"[bcdfghjklmnpqrstvwxz]{5}|[aeiouy]{4}|q(?!u)|[jvwxz]{2}|^(?!.{0,3}[^\Wbcdfghjklmnpqrstvwxz]).{4}")
_LONGEST_WORD, _RANDOM_WORD = 16, 0.5
"""Characters of a plain word, and the rarity from which letters are none."""
_CLASS = lazy_re(r"\[\^?(?:[A-Za-z]-[A-Za-z]|\d-\d|\\[wdsWDS])")
"""A class of characters: a regular expression looks for what it has no example of."""
_CLASS_BEHIND = lazy_re(r"\)?\[\^?(?:[A-Za-z]-[A-Za-z]|\d-\d)")
_LINE_NUMBER = lazy_re(r"\d{1,7}[:-]")
_GOES_ON = lazy_re(r"[(\[]|\.[A-Za-z_]")
_FILE = lazy_re(r".*\.[a-z]{1,5}$")
_CODE_NAME = lazy_re(r"[a-z]+(?:-[a-z]+)*(?:-\d{1,3})?$")
_CONFIRMING = lazy_re(r"[0-9a-f]{1,12}$")
"""What confirms one call of a tool: too short for what lets somebody in, such as the link in a mail to a new user."""
_CONSTANTS = frozenset({"x-oauth-basic", "x-token-auth", "x-access-token"})
"""What stands in the place of a name or a password where services take a token: https://docs.github.com/rest."""
_WEAK = read_words("well_known")
"""Passwords that lists of the most used begin with: some look like placeholders and are none."""


def is_credential(candidate: Candidate, form: float | None = None) -> bool | None:
    """Judge a value in its context.

    Args:
        candidate: Its ``key`` is the name that the value is assigned to.
        form: What the form in which it stands says by itself, in the unit of ``ENOUGH``. Where there is neither a
            name nor this, the form is certain: ``user:password@host``.

    Returns:
        ``None`` where it is plausible, ``False`` where it is not.
    """
    value = candidate.value.strip()
    kind = names.kind_of(candidate.key) if candidate.key else NOTHING
    if form is None:
        form = 0.0 if candidate.key else ENOUGH
    if candidate.key and (kind is NOTHING or _confirms(candidate.key, value, kind) or _is_qualified(candidate)):
        return False
    if not _least_length(value, kind) <= len(value) <= _MOST or _is_refused(candidate, value, kind):
        return False
    return None if form + evidence(candidate, value, kind) >= ENOUGH else False


def is_weak(value: str) -> bool:
    """Whether a password is a default or a plain word: worth a remark, and no reason to hide or to lock anything."""
    lower = value.strip().lower()
    if lower in _WEAK:
        return True
    plain = lower.isalpha() and len(lower) <= _LONGEST_WORD
    return plain and (randomness.score(lower) < _RANDOM_WORD or _is_a_word(value.strip()))


def _confirms(key: str, value: str, kind: NameKind) -> bool:
    return kind is TOKEN and _CONFIRMING.match(value) is not None and names.is_handed_back(key)


def _is_qualified(candidate: Candidate) -> bool:
    if not candidate.match.startswith(candidate.key) or _QUALIFIED.search(candidate.before) is None:
        return False
    return _OF_A_TYPE.search(candidate.before) is not None or _operator(candidate) == ":"


def _least_length(value: str, kind: NameKind) -> int:
    """Three digits are a password that people do set; three letters are a name."""
    return 3 if kind is PASSWORD and value.isdigit() else 4


def _is_refused(candidate: Candidate, value: str, kind: NameKind) -> bool:
    people_choose = kind in (PASSWORD, PASS, NOTHING)
    if _LINE_NUMBER.match(value) and _FILE.match(candidate.key):
        return True  # what grep prints before a line
    if candidate.before.endswith("/etc/") or value.lower() in _CONSTANTS:
        return True
    if people_choose and value.lower() in _WEAK:
        return _is_same(value, candidate.key)
    if " " in value or not value.isprintable():
        words = is_quoted(candidate) and kind is not NOTHING and values.is_pass_phrase(value)
        words = words or (is_quoted(candidate) and kind is SECRET and values.is_sentence(value))
        return not words and not (people_choose and _APP_PASSWORD.match(value))
    if people_choose and value.isdigit() and len(value) <= _LONGEST_NUMBER:
        return len(set(value)) == 1
    if values.is_only_names(value):
        return True  # what is most frequent is seen first, and cheaply
    if len(set(value)) < 3 or _is_dummy(value, chosen=people_choose) or _is_same(value, candidate.key):
        return True
    if value.isdigit() and not people_choose:
        return True
    if values.is_prose(value) or _CLASS.search(value):
        return True
    quoted = is_quoted(candidate)
    behind = _GOES_ON.match(candidate.after) or _CLASS_BEHIND.match(candidate.after)
    if candidate.key and not quoted and (behind or _is_type(candidate, value, kind)):
        return True  # a call, an element, a member, a part of a pattern, a type
    if kind is PASS and "`" in _operator(candidate) and _CODE_NAME.match(value):
        return True  # "callers pass `mt-0`"
    return values.is_no_value(value, quoted=quoted)


def _is_type(candidate: Candidate, value: str, kind: NameKind) -> bool:
    """Whether code says of which type something is: ``auth: McpHttpAuth,``. Settings hold pass phrases, too."""
    if not values.is_type_name(value):
        return False
    spaced = " " in _operator(candidate) and kind in (TOKEN, KEY)
    return spaced or candidate.after.startswith((",", ";", ")", ">", " {", " |"))


def _is_dummy(value: str, *, chosen: bool) -> bool:
    """Whether a value is a placeholder. Of those that people choose, ``test2015`` and ``asdfgh1234`` are none."""
    if not is_placeholder(value):
        return False
    if not chosen or not any(map(str.isdigit, value)):
        return True
    rest = _WEAK_MARK.sub("kt", value.lower())
    return says_so(rest) if _WALK.match(value) else is_placeholder(rest)


def evidence(candidate: Candidate, value: str, kind: NameKind) -> float:
    """What speaks for a value that nothing refuses, added up."""
    quoted = is_quoted(candidate)
    total = kind.evidence + (_QUOTED if quoted else 0.0)
    if looks_random(value):
        return total + _RANDOM
    digits = any(map(str.isdigit, value))
    signs = _SIGN.search(value) is not None
    if digits or signs:
        total += _MIXED
    if signs and digits:
        total += _SIGNS
    if kind in (PASSWORD, PASS, SECRET, NOTHING):
        total += _WELL_KNOWN if value.lower() in _WEAK else 0.0
        total += _LOWER if value == value.lower() else 0.0
        total += _PHRASE if " " in value or _WORDS.match(value) else 0.0
        total += _RUN_TOGETHER if _TOGETHER.match(value) else 0.0
    if not _RUN_INTO_PASS.match(value) and names.kind_of(value) is not NOTHING:
        total += _names_itself(kind, sum(map(str.isdigit, value)), quoted=quoted)
    if not quoted:
        total += _score_unquoted(candidate, value, digits=digits, is_password=kind is PASSWORD)
    return total


def _names_itself(kind: NameKind, digits: int, *, quoted: bool) -> float:
    """What a value that names a secret says: people put digits into passwords, and one into names of keys, too."""
    if kind in (PASSWORD, PASS, NOTHING):
        return 0.0 if digits or quoted else _NAMES_ITSELF
    return 0.0 if digits > 1 else 2 * _NAMES_ITSELF


def _score_unquoted(candidate: Candidate, value: str, *, digits: bool, is_password: bool) -> float:
    """What speaks for an unquoted value to be a literal, and not the name of a variable."""
    operator = _operator(candidate) if candidate.key else ""
    total = _CODE_BEHIND if candidate.after[:1] in (",", ";", ")") else 0.0
    if value.isdigit():
        total += _NUMBER
    is_name = not digits and _IDENTIFIER_SHAPE.match(value) is not None
    spaced = " " in operator and operator.strip() != ""
    if operator == "=" and _SETTING.match(candidate.key):
        return total + _SET
    below = "\n" in operator  # the name and the value are a line each
    whole_line = _LINE_BEHIND.match(candidate.after) and (below or _LINE_BEFORE.search(candidate.before))
    plain = below or operator in (": ", ":", "=") or (is_password and _PLAIN_WORD.match(value) is not None)
    if whole_line and (not is_name or plain):
        return total + _LINE
    if spaced and is_name:
        total += _IDENTIFIER
    return total


def is_basic_auth(candidate: Candidate) -> bool | None:
    """Whether the base64 of an ``Authorization: Basic`` header holds a name and a credential."""
    import base64

    try:
        padded = candidate.value + "=" * (-len(candidate.value) % 4)
        decoded = base64.b64decode(padded, altchars=b"-_", validate=True).decode("utf-8")
    except ValueError:
        return False
    name, colon, password = decoded.partition(":")
    if not colon or not decoded.isprintable():
        return False
    if not password or password.lower() == "x-oauth-basic":
        name, password = "", name  # a key as the name: what many services take
    return is_credential(Candidate(password, password, "", "", ""), ENOUGH if name else 0.0)


def _is_a_word(value: str) -> bool:
    """Whether letters, in one case, are parted by vowels as those of a word are, in whatever language."""
    word = value.rstrip(".!?")
    return _CAN_BE_SAID.match(word) is not None and _TOO_HARD.search(word.lower()) is None


def looks_random(value: str) -> bool:
    """Whether chance rather than a person made a value: long enough to tell, and rare characters in a row."""
    if len(value) <= _LONGEST_WORD and _is_a_word(value):
        return False
    return (len(value) >= 8 and randomness.score(value) >= 0.5) or (len(value) >= 20 and randomness.score(value) >= 0.3)


def is_quoted(candidate: Candidate) -> bool:
    """Whether a quote stands before the value."""
    before = candidate.match[: max(0, candidate.match.rfind(candidate.value))]
    return before[-1:] in ('"', "'", "`")


def _operator(candidate: Candidate) -> str:
    """What stands between the name and the value."""
    start = candidate.match.find(candidate.key) + len(candidate.key)
    return candidate.match[start : max(start, candidate.match.rfind(candidate.value))]


def _is_same(value: str, key: str) -> bool:
    """Whether a value is the name that it is assigned to, but for its case and separators."""
    return bool(key) and "".join(filter(str.isalnum, value)).lower() == "".join(filter(str.isalnum, key)).lower()


__all__ = ["ENOUGH", "evidence", "is_basic_auth", "is_credential", "is_quoted", "looks_random"]
