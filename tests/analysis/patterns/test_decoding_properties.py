"""Whatever a text holds: spots are few, places lie inside, caps hold, and what is encoded is found."""

from __future__ import annotations

import base64
import gzip
import re
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spotting import all_views, find_spots

from lockgate.patterns.decoding import DEPTH, Budget, decode
from lockgate.patterns.decoding import encoded_runs as decoding_runs
from lockgate.patterns.decoding.decoded_views import LEAST
from lockgate.patterns.decoding.worth import BRIEF, worth_a_look


def never() -> bool:
    return False


RUN_OF = {
    "base64": b"QUJD" * 250_000,
    "url-safe": b"a-_9" * 250_000,
    "hex": b"6b3f" * 250_000,
    "colons": b"6b:" * 333_333,
    "percent": b"%41" * 333_333,
    "escapes": b"\\n" * 500_000,
    "entities": b"&#65;" * 200_000,
    "soft breaks": b"=3D" * 333_333,
    "spaced": b"a " * 500_000,
    "numbers": b"115," * 250_000,
    "invisible": "\u200b".encode() * 333_333,
}


@pytest.mark.parametrize("name", RUN_OF)
def test_one_long_run_is_few_spots(name: str) -> None:
    assert len(find_spots(RUN_OF[name])) <= 4


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "base64": base64.b64encode,
    "url-safe": base64.urlsafe_b64encode,
    "wrapped": base64.encodebytes,
    "gzip": lambda data: base64.b64encode(gzip.compress(data, mtime=0)),
    "zlib": lambda data: base64.b64encode(zlib.compress(data)),
    "hex": lambda data: data.hex().encode(),
    "percent": lambda data: b"".join(b"%%%02X" % code for code in data),
    "escape": lambda data: b"".join(b"\\x%02x" % code for code in data),
    "entity": lambda data: b"".join(b"&#%d;" % code for code in data),
}
PIECE = st.one_of(
    st.binary(max_size=40),
    st.text("abcdefz0189+/=_- \n\r\t\"'`\\\\%&;#x{}()[].,:", max_size=60).map(str.encode),
    st.sampled_from([run[:80] for run in RUN_OF.values()]),
    st.binary(min_size=16, max_size=60).flatmap(
        lambda data: st.sampled_from([encode(data) for encode in ENCODERS.values()])
    ),
    st.sampled_from([b"\\", b"%", b"&#", b'"+"', b".join('')", b"concat('", b"[::-1]", b"rev<", b'"\n"', b"\\n"]),
)


@given(st.lists(PIECE, max_size=12).map(b"".join))
def test_whatever_the_text_places_lie_inside_and_caps_hold(data: bytes) -> None:
    budget = Budget(len(data), never)
    found = all_views(data, budget)
    assert sum(len(view.data) for view in found) <= LEAST
    for view in found:
        assert 1 <= len(view.encoding) <= DEPTH
        assert 0 <= view.start <= view.end <= len(data)
        for at in range(0, len(view.data), 1 + len(view.data) // 20):
            start, end = view.span(at, at + 1)
            assert view.start <= start <= end <= view.end
            if not view.is_changed(at, at + 1):
                assert data[start:end] == view.data[at : at + 1]


@given(
    st.binary(max_size=200),
    st.sampled_from(["base64", "hex", "pairs", "decimal", "spaced"]),
    st.integers(0, 210),
)
def test_a_wrong_spot_is_no_error(data: bytes, name: str, end: int) -> None:
    list(decode(data, name, [min(end, len(data))], Budget(len(data), never)))


_TEXT = st.text("abcdef ghijk.,;:()\n", max_size=80).map(lambda text: text.encode() + b" ")


@given(
    st.lists(st.sampled_from(sorted(ENCODERS)), min_size=1, max_size=3),
    st.binary(min_size=8, max_size=60),
    _TEXT,
    _TEXT,
)
def test_a_secret_is_found_under_encodings(names: list[str], noise: bytes, before: bytes, behind: bytes) -> None:
    if sum(2 if name in {"gzip", "zlib"} else 1 for name in names) > DEPTH:
        return
    secret = b"Zx81kQ0vbbWqTr5Lp2m" + noise.hex().encode()
    run = secret
    for name in names:
        run = ENCODERS[name](run)
    text = before + run + b" ; " + behind
    view = next(view for view in all_views(text) if secret in view.data)
    at = view.data.index(secret)
    start, end = view.span(at, at + len(secret))
    assert len(before) <= start <= end <= len(before) + len(run)


def alone(run: bytes) -> list[bytes]:
    """What a run of base64 or hexadecimal digits is decoded to where it is looked at by itself."""
    budget = Budget(len(run), never)
    if run.translate(None, b"0123456789abcdef"):
        return [found.data for found in decoding_runs._base64_run(run.rstrip(b"="), 0, len(run), budget, DEPTH)]
    return [found.data for found in decoding_runs._digits(run, 0, len(run), budget, DEPTH)]


PAYLOAD = st.one_of(
    st.binary(min_size=12, max_size=60),
    st.text("abc =1\n", min_size=6, max_size=40).map(str.encode),
    st.text("abc =1\n", min_size=10, max_size=40).map(lambda text: text.encode("utf-16")),
    st.text("abc =1\n", min_size=10, max_size=40).map(lambda text: text.encode("utf-16-be")),
    st.binary(max_size=40).map(gzip.compress),
    st.binary(max_size=40).map(zlib.compress),
)
RUN = st.builds(
    lambda before, payload, behind, encode, glued: glued + encode(before + payload + behind),
    st.binary(max_size=4),
    PAYLOAD,
    st.binary(max_size=4),
    st.sampled_from([base64.b64encode, base64.urlsafe_b64encode, lambda data: data.hex().encode()]),
    st.sampled_from([b"", b"a", b"ab", b"abc"]),
).filter(lambda run: len(run.rstrip(b"=")) >= 16)


@given(st.lists(RUN, max_size=8), st.integers(1, 4), st.sampled_from([17, 40, 64, 1024]))
def test_runs_that_are_decoded_together_give_what_each_gives_alone(runs: list[bytes], together: int, long: int) -> None:
    hexadecimal = [run for run in runs if not run.translate(None, b"0123456789abcdef")]
    others = [run for run in runs if run.translate(None, b"0123456789abcdef")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding_runs, "_TOGETHER", together)
        patch.setattr(decoding_runs, "_ALONE", long)
        for name, some in (("hex", hexadecimal), ("base64", others)):
            data = b" | ".join(dict.fromkeys(some))
            ends = [found.end() for found in re.finditer(rb"[\w+/-]+", data)]
            found = decode(data, name, ends, Budget(len(data), never))
            assert [each.data for each in found] == [inner for run in dict.fromkeys(some) for inner in alone(run)]


@pytest.mark.parametrize("left", [0, 62, 63, 64])
def test_a_budget_that_is_nearly_used_up_limits_what_is_decompressed(left: int) -> None:
    budget = Budget(0, never)
    budget.left = left
    found = list(worth_a_look(gzip.compress(b"a" * 100_000), 0, 10, "base64", budget, DEPTH, BRIEF))
    assert sum(len(view.data) for view in found) <= left
    assert budget.exceeded == "expansion"
