"""One spelling for each address, none for those that two readers understand differently."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.resources.addresses import extract, host_of, normalise
from lockgate.resources.hosts import is_loopback


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://EXAMPLE.com:443/A?b=C#d", "https://example.com/A?b=C"),
        ("http://example.com:80", "http://example.com/"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("http://example.com:/", "http://example.com/"),
        ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com./x", "http://example.com/x"),
        ("https://a.b/c/./d/../e", "https://a.b/c/e"),
        ("https://a.b/c/..", "https://a.b/"),
        ("https://a.b/../../x", "https://a.b/x"),
        ("https://a.b//x", "https://a.b//x"),
        ("https://a.b?", "https://a.b/?"),
        ("https://a.b?q=../x", "https://a.b/?q=../x"),
        ("https://a.b/%7e", "https://a.b/%7e"),
        ("https://a.b/%2f", "https://a.b/%2f"),
        ("https://a.b/é?ü", "https://a.b/%C3%A9?%C3%BC"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://0x7f000001/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0177.0.0.1/", "http://127.0.0.1/"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://[0:0:0:0:0:0:0:1]:81/", "http://[::1]:81/"),
        ("http://[2001:DB8::1]/", "http://[2001:db8::1]/"),
        ("ssh://git@github.com/a/b.git", "ssh://github.com/a/b.git"),
        ("git+ssh://git@github.com:22/a", "git+ssh://github.com/a"),
        ("ftp://ftp.example.com:21/x", "ftp://ftp.example.com/x"),
        ("git://example.com:9418/x", "git://example.com/x"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
        # What reads differently in two clients, or carries more than an address.
        ("http://localhost@evil.example/", None),
        ("http://user:pass@example.com/", None),
        ("http://good.example\\@evil.example/", None),
        ("http://evil.example\\.good.example/", None),
        ("http:/\\evil.example", None),
        ("http:\\\\evil.example", None),
        ("http:evil.example", None),
        ("http:///evil.example", None),
        ("http://", None),
        ("//example.com/", None),
        ("example.com", None),
        ("", None),
        ("http://good.example\t.evil.example/", None),
        ("ht\ntp://example.com/", None),
        (" http://example.com/", None),
        ("http://example.com/a b", None),
        ("http://exa mple.com/", None),
        ("http://a@b@c/", None),
        ("http://example.com:99999/", None),
        ("http://example.com:80x/", None),
        ("http://example.com:0/", None),
        ("http://example.com:\uff18\uff10/", None),
        ("http://exam%70le.com/", None),
        ("http://256.1.1.1/", None),
        ("http://1.2.3.4.5/", None),
        ("http://0x100000000/", None),
        ("http://[::1/", None),
        ("http://[::1]evil/", None),
        ("http://[fe80::1%25eth0]/", None),
        ("http://a..b/", None),
        ("http://-a.example/", None),
        ("http://ⓔvil.example/", None),
        ("http://faß.example/", None),
        ("http://evil。example/", None),
        ("http://good.example\u200d.evil/", None),
        ("http://a\u2028b/", None),
        ("https://a.b/%2e%2e/x", None),
        ("https://a.b/.%2E/x", None),
        ("file:///etc/passwd", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("http://example.com/" + "a" * 9000, None),
    ],
)
def test_normalise(url, expected):
    assert normalise(url) == expected


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://localhost@evil.example/", "evil.example"),
        ("https://token:x@github.com/a/b", "github.com"),
        ("http://[::1]:8000/", "::1"),
        ("http://EXAMPLE.com:1/", "example.com"),
        ("http://good.example\\@evil.example/", None),
        ("git@github.com:a/b", None),
    ],
)
def test_host_of(url, host):
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://a.example/x.", ["https://a.example/x"]),
        ("(https://a.example/x)", ["https://a.example/x"]),
        ("https://a.example/x_(y)", ["https://a.example/x_(y)"]),
        ("(see https://a.example/x_(y)).", ["https://a.example/x_(y)"]),
        ("[t](https://a.example/x) and <https://b.example>", ["https://a.example/x", "https://b.example/"]),
        ("**https://a.example/x**", ["https://a.example/x"]),
        ('<a href="https://a.example/?a=1&amp;b=2">', ["https://a.example/?a=1&b=2"]),
        ("<a href='https://a.example/x'>y</a>", ["https://a.example/x"]),
        ('{"url":"https:\\/\\/a.example\\/x"}', ["https://a.example/x"]),
        ('{"url":"https://a.example/?a=1\\u0026b=2"}', ["https://a.example/?a=1&b=2"]),
        ('{"t":"https://a.example/x\\nmore"}', ["https://a.example/x"]),
        ("`https://a.example/x`, 'https://b.example/y'", ["https://a.example/x", "https://b.example/y"]),
        ("https://a.example/x https://a.example/x#y", ["https://a.example/x"]),
        ("HTTPS://A.example/X!", ["https://a.example/X"]),
        ("https://a.example/x?\nhttps://b.example/", ["https://a.example/x", "https://b.example/"]),
        ("https://user:pw@a.example/", []),
        ("xhttps://a.example/", []),
        ("https:// a.example", []),
        ("https://a.example\\@b.example/", ["https://a.example/"]),
        ("no address here: example.com, a://b", []),
        ("", []),
    ],
)
def test_extract(text, expected):
    assert extract(text, 10) == expected


def test_extract_stops_at_its_limit():
    text = " ".join(f"https://a.example/{n}" for n in range(50))
    assert extract(text, 3) == ["https://a.example/0", "https://a.example/1", "https://a.example/2"]


@pytest.mark.parametrize(
    "text",
    [
        "http://" * 100_000,
        "https://a/" + "(" * 300_000,
        "https://a/" + ")" * 300_000,
        "http://a" * 80_000,
        "https://a.b/&amp;" * 60_000,
        "\\u0026" * 80_000,
        "https://a/" + "." * 400_000,
    ],
    ids=lambda text: text[:14],
)
def test_hostile_text_is_answered(text):
    """Each of these is quadratic for a careless reader: minutes, where a linear one takes milliseconds."""
    assert len(extract(text, 10)) <= 10


pieces = st.sampled_from(
    [
        "http",
        "https",
        "ssh",
        "://",
        "/",
        "\\",
        "@",
        ":",
        "80",
        ".",
        "..",
        "%2e",
        "%",
        "a",
        "b.c",
        "localhost",
        "127.1",
        "0x7f",
        "[::1]",
        "#",
        "?",
        "é",
        "。",
        "\t",
        "\n",
        " ",
        "\u200d",
        "xn--",
        "-",
        "_",
        "&amp;",
        ")",
        "(",
    ],
)
urls = st.lists(pieces, max_size=12).map("".join) | st.text(max_size=30)


@given(urls)
def test_normalise_is_a_fixed_point(url):
    address = normalise(url)
    if address is not None:
        assert normalise(address) == address
        assert host_of(address) == host_of(url)
        assert address.isascii()


@given(urls)
def test_what_is_extracted_is_normal_and_stands_in_the_text(text):
    for address in extract(f"see {text} there", 10):
        assert normalise(address) == address
        host = host_of(address)
        assert host is not None
        is_loopback(host)
