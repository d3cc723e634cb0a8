"""Recognises values that are no credentials: references, paths, types, text for people."""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.patterns.credentials import randomness
from lockgate.patterns.credentials.data import read_words
from lockgate.patterns.credentials.names import NOTHING, kind_of, words

_VERBOSE, _ANY_CASE = 0x40, 0x2
"""Flags of ``re``, which is not imported for them."""

_REFERENCE = lazy_re(
    r"""\$\{ | \$\( | \#\{ | \{\{ | \{% | <%[=-]? | %\( | %[A-Z][A-Z_]{2,}% | \\\( | ->
      | ^%[sdrv@](?![A-Za-z0-9]) | ^\{\d?\} | ^&[\w.-]{1,40}= | ^t=\d{9,13}$
      | ^(?: \\?\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+\d?|[a-z_]+(?:[A-Z][a-z]*)+) | <.*> | \{\w*\} | \[.*\] | `.*`
           | @@?\w+@? | :\w+ | &\w+;? | \? | %\w+%? | \#[\w.]+\# )$
      | ^(?: \{?\$\w+(?:->|\[|::) | \$env: | %~ | \{[A-Za-z_][\w.]*\} )
      | ^(?: ENC | vault | ssm | op | sops | kms | ref\+\w+ | secretref | keyvault | aws | gcp | env | file | secret
           | asm | awssm | doppler | bws )[:\[({]
      | ^(?:npm|workspace|catalog|jsr):[\^~*@<>=\w]
      | ^!(?:vault|Ref|Sub|GetAtt|ImportValue|env)\b | ^\{(?:cipher|noop|bcrypt|SSHA|SHA|MD5|CRYPT)\}""",
    _VERBOSE,
)
"""A slot that something fills in, the name of a variable, a place in a store of secrets.

Also the next parameter of an address, where one is empty, and the time before a signature (``t=1795317913,v1=...``).
And the version of a package in a lock file (``npm:^4.0.0``).
"""
_HASH = lazy_re(
    r"""\$(?: \w{1,2} | argon2\w* | pbkdf2\S* | scrypt | apr1 | md5 )\$ | pbkdf2_sha256\$
      | (?:sha(?:1|256|384|512)|md5)[-:$]""",
    _VERBOSE | _ANY_CASE,
)
"""What a password was hashed to, and hashes of files: the one is found by rules of its own, the other is public."""
_CALL = lazy_re(
    r"""[\w.\]>]\s*\([^()]*\)?$ | ^[\w.]+\( | ^[A-Za-z_$][\w$.]*(?:\[[^\]]*\]|\.[A-Za-z_$][\w$]*\()
      | -> | :: | \?\. | => | \?\? | && | \|\|
      | ^(?:new|await|return|lambda|function|typeof|not|yield|async|import|from|def|if|f?["'])\b[\s("']""",
    _VERBOSE,
)
_CUT_CALL = lazy_re(r"^[A-Za-z_$][\w.$]*(?:\(.*\)|[\[(])$")
"""``getpass()``, and ``os.environ[`` of which a quote has cut off the rest."""
_DOTTED = lazy_re(r"[A-Za-z_$][\w$-]*(?:\.[A-Za-z_$*][\w$-]*)+!?$")
_PATH = lazy_re(
    r"""^(?: \.{1,2}/ | ~/ | [A-Za-z]:[\\/] | \\\\ | @/ | file: | [a-z][a-z0-9+.-]*:// | data: | mailto: | urn: | arn:
           | ssh-\w+\  | -----BEGIN\ (?:PUBLIC|CERT) )
      | \.(?: pem | key | crt | cer | json | ya?ml | txt | py | js | ts | tsx | jsx | php | html? | css | scss | png
            | svg | jpg | gif | conf | cfg | ini | xml | properties | env | sh | rb | go | java | md | jks | p12 | pfx
            | log
            | vue | sql | db | cs | service | local | com | org | io | net )$""",
    _VERBOSE | _ANY_CASE,
)
_EXPRESSION = lazy_re(
    r"""\\[dwsSDWbB] | \[\^ | \[a-z | \[A-Z | \[0-9 | \(\?[:=!<P] | \.[*+] | \{\d+,\d*\} | ^\^.*\$$
      | ^\+[ ]?[A-Za-z_$][\w$]*[.(\[]
      | ^(?:required|nullable|sometimes|string|min|max|confirmed|optional)[|:,]""",
    _VERBOSE,
)
"""Regular expressions, what is joined to a text (``'+jwk.d``), and the rules of forms: ``required|min:8``."""
_NUMBER = lazy_re(
    r"""[+-]?\d+\.\d+$ | [\^~<>=v]{0,3}\d+\.\d+(?:\.\d+|$) | 0x[0-9a-fA-F]{40}$
      | \d{4}-\d\d-\d\d | \d{1,2}:\d\d | 0x[0-9a-fA-F]{1,8}$
      | \d+(?:px|em|rem|ms|s|m|h|d|kb|mb|%)$""",
    _VERBOSE,
)
_MARKUP = lazy_re(r"</|/>|<\w+[ >/]|&[a-z]+;|\\n|\\t|\\u[0-9a-f]{4}|^u003[ce]")
_ALGORITHM = lazy_re(
    r"""(?:aes|3?des|rsa|e[cd]dsa|sha|[hrep]s|md|hmac|pbkdf|bf|rc|chacha|crc)[-_]?\d{1,4}
        (?:[-_/](?:\d+|cbc|gcm|ecb|ctr|cfb|ofb|xts|ccm|poly1305|sha\d*|pkcs\w+|\w+padding))*$""",
    _VERBOSE | _ANY_CASE,
)
"""Ciphers, hashes and signatures: ``aes-256-cbc``."""
_KEY_LIKE = lazy_re(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|__\w+__$|--?[a-z][\w-]*$|X-[\w-]+$")
"""Names of environment variables, options and headers."""
_RANDOM = 0.7
"""The least rarity at which what is parted by dots is a token (JWTs are) and not a name."""
_INSTRUCTION = lazy_re(
    r"""(?:your|insert|enter|replace|put|use|add|set|change|paste|type|fill|get|see|any|some)[-_ ][a-z]
      | (?:sua|seu|tua|teu|tu|su|votre|ton|deine?|ihre?|mijn|uw|twoje|tw[oó]j)[-_][a-z]
      | .*[-_](?:here|aqui|aquí|ici|hier|qui|tutaj)$""",
    _VERBOSE | _ANY_CASE,
)
"""``your-stripe-key``: to the reader."""
_DUMMY = lazy_re(r"example|x{5}|deadbeef|not[-_ ](?:a|the|real|secret)[-_ ]|\*{4}", _ANY_CASE)
"""In a key however long: chance does not make these."""
_NUMBERED = lazy_re(r"[-_]?\d{1,2}$")
_PASS_PHRASE = lazy_re(r"[a-z0-9!@#$%^&*-]+(?: [a-z0-9!@#$%^&*-]+){1,5}$")
_LABEL = lazy_re(r"[^\d]*[:…]$|.*\.\.\.$")

_THINGS = read_words("things")
"""What has a password: names of such say ``mysql-root-password``."""
_CONDITION = lazy_re(r"[a-z]+(?:_[a-z]+)*=(?:\d{1,3}|0[xob][0-9a-f]{1,8}|true|false|none|null)$")
"""A field and what it is: ``exit_code=0``, ``mode=0o660``."""
_LONGEST_PHRASE, _STOPS = 32, frozenset("\u3002\u3001")
"""Characters of a password in a script other than the Latin one, and the marks that part sentences in some."""
_TYPE = lazy_re(r"(?:[A-Z]{0,3}[A-Z][a-z]{2,}){2,}$")

_STOP = read_words("no_values")
"""Words that are types, names, states or labels. A value of nothing but these names something."""


def is_no_value(value: str, *, quoted: bool) -> bool:
    """Whether a text names, describes or computes a value instead of being one."""
    if _REFERENCE.search(value) or _HASH.match(value) or _PATH.search(value) or _NUMBER.match(value):
        return True
    if _EXPRESSION.search(value) or _MARKUP.search(value) or _LABEL.match(value) or _INSTRUCTION.match(value):
        return True
    if _KEY_LIKE.match(value) or _ALGORITHM.match(value) or _CONDITION.match(value):
        return True
    if (value[0] == "/" or _names_a_member(value, quoted=quoted)) and randomness.score(value) < _RANDOM:
        return True
    if _DUMMY.search(value) or _CUT_CALL.search(value):
        return True
    return not quoted and _CALL.search(value) is not None


def is_type_name(value: str) -> bool:
    """Whether a text is words, each with a capital, as types are named: ``StoredMcpOAuthTokens``."""
    return _TYPE.match(value) is not None


def is_prose(value: str) -> bool:
    """Whether a text is for people, in a language with letters of its own: without a digit, or a sentence."""
    if value.isascii():
        return False
    if not any(map(str.isdigit, value)):
        return True
    others = sum(not letter.isascii() for letter in value)
    return 2 * others > len(value) and (len(value) > _LONGEST_PHRASE or not _STOPS.isdisjoint(value))


def _names_a_member(value: str, *, quoted: bool) -> bool:
    """Whether a text is a name within another: ``config.password``; of literals, where a word in it names something."""
    return _DOTTED.match(value) is not None and not (quoted and _STOP.isdisjoint(words(value)))


def is_only_names(value: str) -> bool:
    """Whether all words of a text, of which there is one at least, are names of things: ``redis-password-2`` too."""
    named = _NUMBERED.sub("", value)
    if any(map(str.isdigit, named)) and value.lower() not in _STOP:
        return False
    parts = words(named)
    if not parts:
        return named.lower() in _STOP
    if all(part in _STOP for part in parts):
        return True
    # "postgres" is a password, "postgres-password" the name of one.
    return kind_of(named) is not NOTHING and all(part in _STOP or part in _THINGS for part in parts)


def is_pass_phrase(value: str) -> bool:
    """Whether a text with blanks is four words, or words and a number, that say nothing to anybody."""
    if _PASS_PHRASE.match(value) is None or not _STOP.isdisjoint(words(value)):
        return False
    return any(map(str.isdigit, value)) or value.count(" ") >= 3


def is_sentence(value: str) -> bool:
    """Whether a text is words in small letters, as people write them for secrets that are asked for by machines."""
    return _PASS_PHRASE.match(value) is not None and not is_only_names(value)


__all__ = ["is_no_value", "is_only_names", "is_pass_phrase", "is_prose", "is_sentence", "is_type_name"]
