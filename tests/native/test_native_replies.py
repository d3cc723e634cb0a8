"""The reader of replies, with sanitizers, against another reader of the same protocol."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from native.fake_gate import answer, wait

REPLIES = int(os.environ.get("NATIVE_REPLIES", "20000"))
SEED = os.environ.get("NATIVE_SEED", "replies")
PROOF = 32
MOST = 256 * 1024 * 1024


def expected(data: bytes, proof: int = PROOF) -> str:
    """What a reader must make of bytes, where proofs have so many."""
    match data[:1]:
        case b"":
            return "part 1"
        case b"W":
            if len(data) < 5 + proof:
                return f"part {5 + proof}"
            return f"wait {int.from_bytes(data[1:5], 'big')}, {expected(data[5 + proof :], proof)}"
        case b"A":
            if len(data) < 10:
                return "part 10"
            code, out, err = struct.unpack(">BII", data[1:10])
            whole = 10 + out + err + proof
            if out + err > MOST or len(data) > whole:
                return "bad"
            return f"part {whole}" if len(data) < whole else f"answer {code} {out} {err}"
        case b"N":
            return "none"
        case _:
            return "bad"


def replies(count: int, seed: str, proof: int = PROOF) -> Iterator[bytes]:
    """What a gate could say, and what it could not: frames, cut off, changed and joined."""
    chance = random.Random(seed)
    for _ in range(count):
        said = b""
        for _ in range(chance.randrange(4)):
            said += wait(chance.choice([0, 1, 1000, 0xFFFFFFFF])) + chance.randbytes(proof)
        out, err = (chance.randbytes(chance.choice([0, 0, 1, 10, 300])) for _ in range(2))
        said += chance.choice(
            [answer(chance.randrange(256), out, err) + chance.randbytes(proof), b"N", b"", chance.randbytes(12)]
        )
        if chance.random() < 0.3:
            said = said[: chance.randrange(len(said) + 1)]
        if said and chance.random() < 0.3:
            place = chance.randrange(len(said))
            said = said[:place] + chance.randbytes(chance.randrange(3)) + said[place + 1 :]
        if chance.random() < 0.1:
            said += chance.randbytes(chance.randrange(4))
        if chance.random() < 0.1:  # sizes about the bounds
            sizes = [chance.choice([0, 1, MOST - 1, MOST, MOST + 1, 0x7FFFFFFF, 0xFFFFFFFF]) for _ in range(2)]
            said = struct.pack(">cBII", b"A", 0, *sizes) + chance.randbytes(chance.randrange(3))
        yield said


def test_every_reply_is_read_as_the_protocol_says(reader: Path) -> None:
    said = list(replies(REPLIES, SEED))
    given = b"".join(struct.pack(">I", len(reply)) + reply for reply in said)
    done = subprocess.run([str(reader)], input=given, capture_output=True, timeout=300, check=False)
    assert done.stderr == b""
    assert done.returncode == 0
    told = done.stdout.decode().splitlines()
    wrong = [(reply, line) for reply, line in zip(said, told, strict=True) if line != expected(reply)]
    assert wrong == []
