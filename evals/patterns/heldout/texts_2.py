"""Writes ``texts_2.jsonl`` and ``texts_3.jsonl``: notations of credentials, and what looks like them without one.

Credentials stand in twelve kinds of places. All tables were written before the library's rules were looked at. In a
text of ``texts_2_secrets.txt`` the values stand in ``«»``, which are taken out; ``values`` says where they are. The
rest is as in ``texts_1.py``.

    python evals/patterns/heldout/texts_2.py --write [--seed 2]   # another draw
    python evals/patterns/heldout/texts_2.py --measure [--show] [--set 3]

A text counts as found with any finding that ``lockgate scan`` tells without options. It counts as *clean* where what a
tool gives back keeps no four characters of a value in one piece, and *exact* where it keeps all that is no value.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from credentials import human_made, password  # noqa: E402
from scanner import open_scanner  # noqa: E402
from texts_1 import PIECE, expand, load  # noqa: E402
from texts_1_values import CLASSES, VALUES, of  # noqa: E402

from lockgate.cli.scan.findings import FindingFilter, check, matches_in  # noqa: E402
from lockgate.patterns.engine.request import CheckRequest  # noqa: E402
from lockgate.patterns.engine.scanner import Scanner  # noqa: E402
from lockgate.patterns.fields import Field  # noqa: E402
from lockgate.patterns.model import Side  # noqa: E402

READABLE = 4
"""Characters of a value in one piece that are too many to leave."""
_MARKED = re.compile("[«»]")


def _nkey(rng: Random, kind: str) -> str:
    """A seed of NATS: two bytes that say which, 32 of the key, and a CRC-16 (XMODEM) of both."""
    role = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".index(kind[1]) << 3
    raw = bytes((0x90 | role >> 5, (role & 31) << 3)) + rng.randbytes(32)
    crc = 0
    for byte in raw:
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1
            crc &= 0xFFFF
    return base64.b32encode(raw + crc.to_bytes(2, "little")).decode().rstrip("=")


def _unpadded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _anon(rng: Random) -> str:
    """A key of Supabase for browsers: a JWT whose role is ``anon``."""
    claims = {
        "iss": "supabase",
        "ref": of(rng, CLASSES["ln"], 20),
        "role": "anon",
        "iat": 1767225600,
        "exp": 2082801600,
    }
    return f"{_unpadded({'alg': 'HS256', 'typ': 'JWT'})}.{_unpadded(claims)}.{of(rng, CLASSES['b64u'], 43)}"


VALUES.update(
    pw=password,
    human=human_made,
    nkey=_nkey,
    anonjwt=_anon,
    mapbox=lambda rng: _unpadded({"u": "acme", "a": of(rng, CLASSES["ln"], 25)}),
)


def rows(number: int, seed: int) -> Iterator[dict[str, object]]:
    """Each row of the tables, expanded."""
    rng = Random(seed)
    for name, label in (("secrets", 1), ("harmless", 0)):
        for line in (HERE / f"texts_{number}_{name}.txt").read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("# "):
                kind, form, template = line.split(" | ", 2)
                pieces = _MARKED.split(expand(template.replace("\\t", "\t"), rng))
                ends = [sum(map(len, pieces[: number + 1])) for number in range(len(pieces))]
                spans = list(zip(ends[::2], ends[1::2], strict=False))
                yield {"text": "".join(pieces), "label": label, "kind": kind, "form": form, "values": spans}


def judged(scanner: Scanner, row: Mapping[str, object]) -> tuple[bool, bool, bool]:
    """Whether a text is found, whether it is clean, and whether it is exact."""
    text, spans = str(row["text"]), [tuple(span) for span in row["values"]]  # type: ignore[attr-defined]
    found = bool(matches_in(check(scanner, text), FindingFilter()))
    result = scanner.check([Field("", "", text)], CheckRequest(Side.OUTPUT, "Bash", timeout_ms=60_000))
    gone = {at for match in result.pattern_matches if match.redact for at in range(match.start, match.end)}
    clean = not any(_runs(span, gone) for span in spans)
    exact = gone <= {at for span in spans for at in range(*span)}
    return found, clean, exact


def _runs(span: Sequence[int], gone: set[int]) -> bool:
    """Whether enough of a span stays in one piece to be read."""
    run = 0
    for at in range(*span):
        run = 0 if at in gone else run + 1
        if run >= READABLE:
            return True
    return False


def measure(found: Sequence[Mapping[str, object]], *, show: bool) -> None:
    """Print the figures of each kind, and of all."""
    scanner = open_scanner()
    kinds: dict[tuple[object, object], list[tuple[bool, bool, bool]]] = defaultdict(list)
    for row in found:
        answer = judged(scanner, row)
        kinds[row["label"], row["kind"]].append(answer)
        wrong = [
            name
            for name, is_wrong in (
                ("MISS" if row["label"] else "ALARM", answer[0] != bool(row["label"])),
                ("LEFT", bool(row["label"]) and not answer[1]),
                ("WIDE", not answer[2]),
            )
            if is_wrong
        ]
        if show and wrong:
            print(*wrong, "|", row["kind"], "|", row["form"], "|", repr(row["text"])[:200])
    for (label, kind), answers in sorted(kinds.items(), key=str):
        told, clean, exact = (sum(answer[part] for answer in answers) for part in range(3))
        print(
            f"{'secret' if label else 'harmless':9}{kind:9}{len(answers):4}  "
            f"found {told:4}  clean {clean:4}  exact {exact:4}"
        )
    report(kinds)


def report(kinds: Mapping[tuple[object, object], Sequence[tuple[bool, bool, bool]]]) -> None:
    """The figures over all kinds."""
    real = [answer for (label, _), answers in kinds.items() if label for answer in answers]
    none = [answer for (label, _), answers in kinds.items() if not label for answer in answers]
    hits, false = sum(answer[0] for answer in real), sum(answer[0] for answer in none)
    precision, recall = hits / max(1, hits + false), hits / len(real)
    print(f"found {hits} of {len(real)}, told {false} of {len(none)} harmless")
    print(f"recall {recall:.3f} precision {precision:.3f} F1 {2 * precision * recall / (precision + recall):.3f}")
    print(f"redacted: clean {sum(answer[1] for answer in real) / len(real):.3f}", end="  ")
    print(f"exact {sum(answer[2] for answer in (*real, *none))} of {len(real) + len(none)}")


def main() -> None:
    """Write the file, or measure it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--set", type=int, default=2, help="of which tables")
    options.add_argument("--write", action="store_true")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--measure", action="store_true")
    options.add_argument("--show", action="store_true", help="list what is wrong too")
    given = options.parse_args()
    target = HERE / f"texts_{given.set}.jsonl"
    if given.write:
        with target.open("w", encoding="utf-8") as out:
            for row in rows(given.set, given.seed):
                text = str(row["text"])
                pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
                out.write(json.dumps({**row, "text": pieces}, ensure_ascii=False) + "\n")
    if given.measure:
        measure(load(target), show=given.show)


if __name__ == "__main__":
    main()
