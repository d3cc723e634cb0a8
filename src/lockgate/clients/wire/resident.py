r"""The messages between a hook and the resident gate. Integers are unsigned and big-endian.

Request::

    "LOCKGATE3\n"  u32 length of head  u32 length of payload  head  payload

The head is strings, each with a zero byte at its end. First a nonce, the process id of the hook's parent, and which
code it is (see :mod:`lockgate.system.code_identity`). Then the number of arguments, the arguments, and the environment
as ``NAME=VALUE``.
The payload is what the client wrote to the hook's stdin.

Reply, in frames::

    "W" u32 milliseconds           somebody is waited for, so long at most: listen on
    "A" u8 exit code  u32 length of stdout  u32 length of stderr  stdout  stderr
    "N"                            no answer from here: decide by yourself

Where the nonce is not empty, 32 bytes follow each "W" and "A": the proof that it is of a process with the key of the
installation, for this request alone (:func:`proof_begun`).

A version that means something else by these bytes has another first line, to which this one answers "N".
"""

from __future__ import annotations

import os
import sys
from _operator import _compare_digest as compare_digest
from types import MappingProxyType

from lockgate.core.errors import BadInputError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.digests import blake2b

if TYPE_CHECKING:
    from _blake2 import blake2b as Hash  # noqa: N812 - the name of the class that it is
    from collections.abc import Mapping

HELLO = b"LOCKGATE3\n"
HEADER = len(HELLO) + 8
MAX_HEAD = 4 * 1024 * 1024
"""Most bytes of arguments and environment; Linux itself allows about 6 MB for both."""
MAX_PAYLOAD = 1024 * 1024
"""Most bytes of a payload. To decide on a larger one would hold up all others; its hook decides by itself."""
NOT_HERE = b"N"
PROVED = (b"W", b"A")
"""The first bytes of frames that a proof follows."""
PROOF = 32
"""Bytes of a proof."""
_PERSON = b"lockgate answer"
NONCE = 16
"""Random bytes of a nonce, which is spelt in hexadecimal digits."""
_LONGEST_NUMBER = 10
"""Digits."""
_ANSWER = 10
"""Bytes before an answer's stdout."""
_SILENCE = b"A" + bytes(_ANSWER - 1)
"""The frame of an answer without an objection."""
_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
"""The encoding of :func:`os.fsdecode`."""
MOST_ENVIRONMENTS, LONGEST_ENVIRONMENT = 32, 64 * 1024
"""Environments that are cached, and the most bytes of one: a client gives all its hooks the same one."""
KNOWN_ENVIRONMENTS: dict[bytes, tuple[Mapping[str, str], int]] = {}


class HookRequest(Record):
    """A hook's request."""

    parent: int
    arguments: tuple[str, ...]
    environ: Mapping[str, str]
    payload: bytes
    mark: int = 0
    """A number that differs for other environments."""
    code: str = ""
    """The identity of the code that asks, and would decide by itself if it had to."""
    nonce: str = ""
    """A text that no other request has. A hook that sends one wants proofs."""


class BytesAnswer(Record):
    """A gate's answer as it was sent."""

    code: int
    stdout: bytes
    stderr: bytes


def sizes(header: bytes | bytearray) -> tuple[int, int]:
    """Lengths of head and payload.

    Raises:
        BadInputError: It is no header, or of a message that is too large.
    """
    if len(header) != HEADER or not header.startswith(HELLO):
        raise BadInputError("this is not what a hook of this version sends")
    head, payload = divmod(int.from_bytes(header[-8:], "big"), 1 << 32)
    if head > MAX_HEAD or payload > MAX_PAYLOAD:
        raise BadInputError("the message is too large")
    return head, payload


def request(head: bytes, payload: bytes) -> HookRequest:
    """Read a request.

    Raises:
        BadInputError: The head is none.
    """
    # A zero byte is no part of any other character in the encodings that a system uses.
    parts = head.split(b"\0", 4)
    if len(parts) < 5 or not _is_nonce(parts[0]) or not head.endswith(b"\0"):
        raise BadInputError("the head does not end where it should")
    nonce, parent, code, count, rest = parts
    if not (parent.isdigit() and count.isdigit() and max(len(parent), len(count)) <= _LONGEST_NUMBER):
        raise BadInputError("the head does not begin with two numbers")
    words = rest.split(b"\0", int(count))
    if len(words) != int(count) + 1:
        raise BadInputError("the head does not say how many arguments it has")
    variables = words.pop()
    environ, mark = KNOWN_ENVIRONMENTS.get(variables) or _environment(variables)
    arguments = b"\0".join(words).decode(_ENCODING, _ERRORS).split("\0") if words else ()  # decoded all at once
    return HookRequest(int(parent), tuple(arguments), environ, payload, mark, _code(code), nonce.decode("ascii"))


def _is_nonce(told: bytes) -> bool:
    return not told or (len(told) <= 2 * NONCE and told.isalnum())


_CODES: dict[bytes, str] = {}


def _code(told: bytes) -> str:
    """The decoded identity of a code: most often the same as before."""
    found = _CODES.get(told)
    if found is None:
        if len(_CODES) >= MOST_ENVIRONMENTS:
            _CODES.clear()
        found = _CODES[told] = os.fsdecode(told)
    return found


def _environment(variables: bytes) -> tuple[Mapping[str, str], int]:
    """Read an environment, with its mark. Nobody can change it."""
    pairs = (pair.partition("=") for pair in os.fsdecode(variables).split("\0"))
    environ = {name: value for name, given, value in pairs if given}
    found = MappingProxyType(environ), hash(frozenset(environ.items()))
    if len(variables) <= LONGEST_ENVIRONMENT:
        if len(KNOWN_ENVIRONMENTS) >= MOST_ENVIRONMENTS:
            KNOWN_ENVIRONMENTS.clear()
        KNOWN_ENVIRONMENTS[variables] = found
    return found


def encode_request(asked: HookRequest) -> bytes:
    """Write a request."""
    words = [asked.nonce, str(asked.parent), asked.code, str(len(asked.arguments)), *asked.arguments]
    words += [f"{name}={value}" for name, value in asked.environ.items()]
    head = b"".join(os.fsencode(word) + b"\0" for word in words)
    return HELLO + len(head).to_bytes(4, "big") + len(asked.payload).to_bytes(4, "big") + head + asked.payload


def proof_begun(key: bytes, spelt: bytes) -> Hash:
    """The beginning of the proofs of all answers to a request: a keyed BLAKE2b of the whole request.

    Args:
        key: The installation's key.
        spelt: The request with its header, which tells its length.
    """
    return blake2b(spelt, key=key, person=_PERSON, digest_size=PROOF)


def prove(begun: Hash, frame: bytes) -> bytes:
    """A frame with its proof."""
    proof = begun.copy()
    proof.update(frame)
    return frame + proof.digest()


def is_proved(begun: Hash, said: bytes) -> bool:
    """Whether a frame has its proof."""
    return compare_digest(prove(begun, said[:-PROOF]), said)


def wait(seconds: float) -> bytes:
    """The frame that makes a hook wait."""
    return b"W" + min(max(int(seconds * 1000), 0), 0xFFFFFFFF).to_bytes(4, "big")


def answer(stdout: str, stderr: str, code: int) -> bytes:
    """The frame with an answer."""
    if not (stdout or stderr or code):
        return _SILENCE  # the answer to most hooks
    out = (stdout + "\n" if stdout else "").encode("utf-8", "backslashreplace")
    return answer_in_bytes(out, stderr.encode("utf-8", "backslashreplace"), code)


def answer_in_bytes(out: bytes, err: bytes, code: int = 0) -> bytes:
    """The frame with an answer in bytes, as they are."""
    return b"A" + bytes([code]) + len(out).to_bytes(4, "big") + len(err).to_bytes(4, "big") + out + err


def answer_of(said: bytes) -> BytesAnswer:
    """Read the answer of a gate that sends no frame before it.

    Raises:
        BadInputError: It is no answer.
    """
    if said[:1] == NOT_HERE:
        raise BadInputError("it is of another version, or ending")
    if len(said) < _ANSWER or said[:1] != b"A":
        raise BadInputError("it does not speak as a gate of this version does")
    middle = _ANSWER + int.from_bytes(said[2:6], "big")
    if len(said) != middle + int.from_bytes(said[6:10], "big"):
        raise BadInputError("its answer is not whole")
    return BytesAnswer(said[1], said[_ANSWER:middle], said[middle:])
