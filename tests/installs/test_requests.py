"""Which requests pass to an index, what an answer adds, and that everything else is refused."""

from __future__ import annotations

import io
import json
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.containment.registry_proxy.indexes import ACCEPTED, NPM, NPMJS, PYPI, SIMPLE, SIMPLE_JSON
from lockgate.containment.registry_proxy.requests import FILE, METADATA, PAGE, RELEASE, WHEEL, Filter, RefusedError
from lockgate.containment.registry_proxy.wanted import Wanted

ONE, TWO = "1" * 64, "2" * 64
HOST, FILES, NPM_HOST = "pypi.org", "files.pythonhosted.org", "registry.npmjs.org"
LOCKED = f"https://{FILES}/packages/aa/idna-3.10-py3-none-any.whl"
TARBALL = f"https://{NPM_HOST}/is-odd/-/is-odd-3.0.1.tgz"
SCOPED = f"https://{NPM_HOST}/@scope/odd/-/odd-1.0.0.tgz"
YARN_HOST = "registry.yarnpkg.com"
RELEASE_PAGE = f"https://{HOST}/pypi/idna/3.10/json"
WANTED = Wanted(
    {"idna": frozenset((ONE,)), "flask-login": frozenset()},
    frozenset(("is-odd", "@scope/odd")),
    frozenset((LOCKED, TARBALL, SCOPED, "https://e.example/x.whl")),
    frozenset((RELEASE_PAGE, "https://e.example/pypi/idna/3.10/json")),
)


def filtered() -> Filter:
    return Filter(WANTED, (PYPI, NPMJS))


def asked(authority: str, target: str, method: str = "GET", *headers: tuple[str, str]) -> tuple[str, str]:
    passed = filtered().check(authority, method, target, (("host", authority), *headers))
    return passed.kind, passed.address


PASSES = {
    "a project": (HOST, "/simple/idna/", PAGE, "https://pypi.org/simple/idna/"),
    "a project without a slash": (HOST, "/simple/idna", PAGE, "https://pypi.org/simple/idna/"),
    "a file of the lock file": (FILES, "/packages/aa/idna-3.10-py3-none-any.whl", FILE, LOCKED),
    "its metadata": (FILES, "/packages/aa/idna-3.10-py3-none-any.whl.metadata", METADATA, f"{LOCKED}.metadata"),
    "the page of a version": (HOST, "/pypi/idna/3.10/json", RELEASE, RELEASE_PAGE),
    "a package": (NPM_HOST, "/is-odd", PAGE, f"https://{NPM_HOST}/is-odd"),
    "a package with a scope": (NPM_HOST, "/@scope%2fodd", PAGE, f"https://{NPM_HOST}/@scope%2fodd"),
    "the same in capitals": (NPM_HOST, "/@scope%2Fodd", PAGE, f"https://{NPM_HOST}/@scope%2fodd"),
    "the same with a slash": (NPM_HOST, "/@scope/odd", PAGE, f"https://{NPM_HOST}/@scope%2fodd"),
    "a tarball": (NPM_HOST, "/is-odd/-/is-odd-3.0.1.tgz", FILE, TARBALL),
    "a tarball with a scope": (NPM_HOST, "/@scope/odd/-/odd-1.0.0.tgz", FILE, SCOPED),
    "the same as yarn spells it": (NPM_HOST, "/@scope%2fodd/-/odd-1.0.0.tgz", FILE, SCOPED),
    "a package at another address of the registry": (YARN_HOST, "/is-odd", PAGE, f"https://{NPM_HOST}/is-odd"),
    "a tarball there": (YARN_HOST, "/is-odd/-/is-odd-3.0.1.tgz", FILE, TARBALL),
    "the same with a scope": (YARN_HOST, "/@scope%2fodd/-/odd-1.0.0.tgz", FILE, SCOPED),
}


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_passes(name: str, method: str) -> None:
    authority, target, kind, address = PASSES[name]
    assert asked(authority, target, method) == (kind, address)


REFUSED = {
    "another project": (HOST, "/simple/requests/"),
    "a name in another spelling": (HOST, "/simple/Flask_Login/"),
    "a name with more behind it": (HOST, "/simple/idna/secret/"),
    "a list of all projects": (HOST, "/simple/"),
    "another path of the index": (HOST, "/pypi/idna/json"),
    "another version's page": (HOST, "/pypi/idna/3.11/json"),
    "a version's page elsewhere": ("e.example", "/pypi/idna/3.10/json"),
    "another page of a version": (HOST, "/pypi/idna/3.10/json/secret"),
    "a search": (HOST, "/search/idna"),
    "a query": (HOST, "/simple/idna/?secret"),
    "a fragment": (HOST, "/simple/idna/#secret"),
    "a point": (HOST, "/simple/./idna/"),
    "upwards": (HOST, "/simple/x/../idna/"),
    "an encoded letter": (HOST, "/simple/%69dna/"),
    "another letter case": (HOST, "/simple/IDNA/"),
    "a whole address": (HOST, "https://pypi.org/simple/idna/"),
    "an asterisk": (HOST, "*"),
    "no path": (HOST, ""),
    "a line break": (HOST, "/simple/idna/\r\nx: secret"),
    "a file that nobody named": (FILES, "/packages/bb/secret-1.whl"),
    "a name at the host of files": (FILES, "/simple/idna/"),
    "a file at the index's own host": (HOST, "/packages/aa/idna-3.10-py3-none-any.whl"),
    "metadata of metadata": (FILES, "/packages/aa/idna-3.10-py3-none-any.whl.metadata.metadata"),
    "a package of npm that nobody named": (NPM_HOST, "/left-pad"),
    "a version of a package": (NPM_HOST, "/is-odd/3.0.1"),
    "a tarball that nobody named": (NPM_HOST, "/is-odd/-/is-odd-3.0.1-secret.tgz"),
    "a name behind two scopes": (NPM_HOST, "/@a/@scope/odd"),
    "a tarball with a scope encoded twice": (NPM_HOST, "/@scope%252fodd/-/odd-1.0.0.tgz"),
    "a slash that is encoded behind the scope": (NPM_HOST, "/@scope%2fodd%2f-%2fodd-1.0.0.tgz"),
    "a package that nobody named at another address": (YARN_HOST, "/left-pad"),
    "a project at another address of npm's": (YARN_HOST, "/simple/idna/"),
    "a scope encoded twice": (NPM_HOST, "/@scope%252fodd"),
    "who somebody is": (NPM_HOST, "/-/whoami"),
    "a search of npm": (NPM_HOST, "/-/v1/search?text=secret"),
    "an audit": (NPM_HOST, "/-/npm/v1/security/advisories/bulk"),
    "another host": ("e.example", "/simple/idna/"),
    "another port": ("pypi.org:8443", "/simple/idna/"),
    "a file elsewhere that a lock file names": ("e.example", "/x.whl"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    with pytest.raises(RefusedError):
        asked(*REFUSED[name])


OTHERWISE = {
    "POST": ("POST", ()),
    "PUT": ("PUT", ()),
    "DELETE": ("DELETE", ()),
    "CONNECT": ("CONNECT", ()),
    "OPTIONS": ("OPTIONS", ()),
    "a method in small letters": ("get", ()),
    "a method of one's own": ("SECRET", ()),
    "a body": ("GET", (("content-length", "6"),)),
    "a body in parts": ("GET", (("transfer-encoding", "chunked"),)),
    "another host in the header": ("GET", (("host", "e.example"),)),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_refused_for_a_known_path(name: str) -> None:
    method, headers = OTHERWISE[name]
    with pytest.raises(RefusedError):
        asked(HOST, "/simple/idna/", method, *headers)


def test_without_a_host_nothing_passes() -> None:
    with pytest.raises(RefusedError):
        filtered().check(HOST, "GET", "/simple/idna/", ())


@pytest.mark.parametrize(("accept", "then"), [
    (SIMPLE_JSON, ACCEPTED[SIMPLE][1]), ("text/html", "text/html"), ("secret", "text/html"), ("", "text/html"),
])  # fmt: skip
def test_of_what_a_client_accepts_one_of_two_texts_is_sent(accept: str, then: str) -> None:
    passed = filtered().check(HOST, "GET", "/simple/idna/", (("host", HOST), ("accept", accept)))
    assert passed.accept == then


# ---------------------------------------------------------------- answers
def page(*files: tuple[str, str]) -> bytes:
    return json.dumps({"files": [{"url": url, "hashes": {"sha256": digest}} for url, digest in files]}).encode()


def learned(target: str, kind: str, body: bytes, authority: str = HOST) -> Filter:
    known = filtered()
    known.learn(known.check(authority, "GET", target, (("host", authority),)), kind, body)
    return known


def passes(known: Filter, address: str) -> str:
    authority, _, path = address.removeprefix("https://").partition("/")
    try:
        return known.check(authority, "GET", f"/{path}", (("host", authority),)).kind
    except RefusedError:
        return ""


PLACE = f"https://{FILES}/packages/cc"
ANSWERS: dict[str, tuple[str, str, bytes, str, str]] = {
    # asked, type, answer, what may be asked for then, and what it is taken for
    "a file": ("/simple/flask-login/", SIMPLE_JSON, page((f"{PLACE}/a.tar.gz", TWO)), f"{PLACE}/a.tar.gz", FILE),
    "a wheel": ("/simple/flask-login/", SIMPLE_JSON, page((f"{PLACE}/a.whl", TWO)), f"{PLACE}/a.whl", WHEEL),
    "a link": ("/simple/flask-login/", "text/html; charset=UTF-8", b'<a href="../../a.whl#sha256=x">a</a>',
               "https://pypi.org/a.whl", WHEEL),
    "a locked file": ("/simple/idna/", SIMPLE_JSON, page((f"{PLACE}/a.whl", ONE)), f"{PLACE}/a.whl", FILE),
    "a link with a digest": ("/simple/idna/", "text/html", f'<a href="{PLACE}/a.whl#sha256={ONE}">'.encode(),
                             f"{PLACE}/a.whl", FILE),
    "a file of another digest": ("/simple/idna/", SIMPLE_JSON, page((f"{PLACE}/a.whl", TWO)), f"{PLACE}/a.whl", ""),
    "a file of no digest": ("/simple/idna/", SIMPLE_JSON, page((f"{PLACE}/a.whl", "")), f"{PLACE}/a.whl", ""),
    "a file elsewhere": ("/simple/flask-login/", SIMPLE_JSON, page(("https://e.example/a.whl", TWO)),
                         "https://e.example/a.whl", ""),
    "a file without TLS": ("/simple/flask-login/", SIMPLE_JSON, page((f"http://{FILES}/a.whl", TWO)),
                           f"https://{FILES}/a.whl", ""),
    "a file with a query": ("/simple/flask-login/", SIMPLE_JSON, page((f"{PLACE}/a.whl?x", TWO)),
                            f"{PLACE}/a.whl?x", ""),
    "a file at another port": ("/simple/flask-login/", SIMPLE_JSON, page((f"https://{FILES}:99/a.whl", TWO)),
                               f"https://{FILES}:99/a.whl", ""),
    "a file of somebody": ("/simple/flask-login/", SIMPLE_JSON, page((f"https://u@{FILES}/a.whl", TWO)),
                           f"https://{FILES}/a.whl", ""),
    "no JSON": ("/simple/flask-login/", SIMPLE_JSON, b"{", f"{PLACE}/a.whl", ""),
    "other JSON": ("/simple/flask-login/", SIMPLE_JSON, b'{"files": [1, {"url": 1}]}', f"{PLACE}/a.whl", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_adds(name: str) -> None:
    target, kind, body, address, taken_for = ANSWERS[name]
    assert passes(learned(target, kind, body), address) == taken_for


def test_a_record_of_npm_adds_its_tarballs() -> None:
    tarball = f"https://{NPM_HOST}/is-odd/-/is-odd-4.0.0.tgz"
    body = json.dumps(
        {"versions": {"4.0.0": {"dist": {"tarball": tarball}}, "5": {"dist": {"tarball": "https://e/x"}}}}
    )
    known = learned("/is-odd", "application/json", body.encode(), NPM_HOST)
    assert (passes(known, tarball), passes(known, "https://e/x")) == (FILE, "")


METADATA_TEXT = b"Metadata-Version: 2.1\nName: idna\nVersion: 1\nRequires-Dist: Six_er>=1; extra == 'x'\n"
METADATA_TEXT += b"Requires-Dist: evil @ https://e.example/x\nRequires-Dist: ???\n"


def test_metadata_adds_the_projects_that_it_needs() -> None:
    known = learned("/packages/aa/idna-3.10-py3-none-any.whl.metadata", "", METADATA_TEXT, FILES)
    assert passes(known, "https://pypi.org/simple/six-er/") == PAGE
    assert passes(known, "https://pypi.org/simple/evil/") == ""


def wheel(name: str = "idna-1.dist-info/METADATA") -> io.BytesIO:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr(name, METADATA_TEXT)
    return held


@pytest.mark.parametrize(("held", "kind"), [(wheel(), PAGE), (wheel("METADATA"), ""), (io.BytesIO(b"PK"), "")])
def test_a_wheel_adds_what_its_metadata_names(held: io.BytesIO, kind: str) -> None:
    known = filtered()
    known.learn_from_wheel(held)
    assert passes(known, "https://pypi.org/simple/six-er/") == kind


def test_answers_add_no_more_than_so_many_names() -> None:
    known = filtered()
    many = b"Metadata-Version: 2.1\nName: a\nVersion: 1\n"
    many += b"".join(b"Requires-Dist: p%d\n" % number for number in range(6_000))
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr("a-1.dist-info/METADATA", many)
    known.learn_from_wheel(held)
    assert [passes(known, f"https://pypi.org/simple/p{number}/") for number in (0, 4_999, 5_000)] == [PAGE, PAGE, ""]


# ---------------------------------------------------------------- laws
TARGETS = st.lists(
    st.sampled_from(["/", "simple", "idna", "flask-login", "is-odd", "@scope", "%2f", "-", ".", "..", "packages", "aa",
                     "idna-3.10-py3-none-any.whl", ".metadata", "?", "#", "secret", "%", "\r\n", " ", "é", "\\"]),
    max_size=9,
).map("".join)  # fmt: skip
AUTHORITIES = st.sampled_from([HOST, FILES, NPM_HOST, "e.example", "pypi.org:8443", "", "pypi.org.e.example"])
HEADERS = st.lists(st.tuples(st.sampled_from(["host", "accept", "x"]), st.sampled_from([HOST, FILES, "secret", "0"])))
ADDRESSES = {address for _, _, _, address in PASSES.values()} | {
    "https://pypi.org/simple/flask-login/", f"{TARBALL}.metadata"
}  # fmt: skip
SENT = {text for told in ACCEPTED.values() for text in told} | {"*/*"}


@given(AUTHORITIES, st.sampled_from(["GET", "HEAD", "POST", "secret"]), TARGETS, HEADERS)
def test_nothing_of_a_request_but_a_known_address_is_sent(
    authority: str, method: str, target: str, headers: list[tuple[str, str]]
) -> None:
    try:
        passed = filtered().check(authority, method, target, [("host", authority), *headers])
    except RefusedError as error:
        assert "secret" not in str(error)
        return
    assert passed.address in ADDRESSES
    assert passed.method in ("GET", "HEAD")
    assert passed.accept in SENT


@given(st.binary(max_size=200), st.sampled_from([SIMPLE_JSON, "text/html", ""]))
def test_any_answer_is_taken_in(body: bytes, kind: str) -> None:
    known = filtered()
    for authority, target in ((HOST, "/simple/idna/"), (NPM_HOST, "/is-odd"), (FILES, f"{LOCKED[30:]}.metadata")):
        try:
            passed = known.check(authority, "GET", target, (("host", authority),))
        except RefusedError:
            continue
        known.learn(passed, kind, body)
    known.learn_from_wheel(io.BytesIO(body))


def test_the_protocols_have_their_own_names() -> None:
    assert set(ACCEPTED) == {SIMPLE, NPM}


def test_a_page_of_a_version_adds_its_files_of_the_lock_file() -> None:
    found = filtered()
    page = found.check(HOST, "GET", "/pypi/idna/3.10/json", [("host", HOST)])
    listed = {f"https://{FILES}/{digest[0]}.whl": digest for digest in (ONE, TWO)}
    told = {"urls": [{"url": address, "digests": {"sha256": digest}} for address, digest in listed.items()]}
    found.learn(page, "application/json", json.dumps(told).encode())
    assert found.check(FILES, "GET", "/1.whl", [("host", FILES)]).kind == FILE
    with pytest.raises(RefusedError):
        found.check(FILES, "GET", "/2.whl", [("host", FILES)])
