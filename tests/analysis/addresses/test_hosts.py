"""Which hosts are this machine, its metadata or trusted, and what makes this machine ask another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.resources.host_view import AnalysisRules, HostView, TrustedDomain
from lockgate.resources.hosts import find_trusted, is_here, is_loopback, is_metadata
from lockgate.resources.relays import leads_elsewhere


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "app.localhost",
        "127.0.0.1",
        "127.1",
        "127.255.0.9",
        "0x7f.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "::1",
        "[::1]",
        "0:0:0:0:0:0:0:1",
        "::ffff:127.0.0.1",
        "[::ffff:7f00:1]",
    ],
)
def test_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "localhost.evil.example",
        "localhost.com",
        "xlocalhost",
        "0.0.0.0",
        "0",
        "128.0.0.1",
        "127.0.0.1.evil.example",
        "::",
        "::2",
        "10.0.0.1",
        "169.254.1.1",
        "",
        "localhost@evil",
        "127.0.0.1:80",
        "::ffff:10.0.0.1",
        "localhost%2eevil",
        "loca\u217chost",
        "localhost..",
        "localhost\t",
        " localhost",
        "127.0.0.1\n",
        "\uff1127.0.0.1",
        "\u246027.0.0.1",
        "127\u30020\u30020\u30021",
        "127.0.0.256",
        "0x7f.0.0.0.1",
        "08.0.0.1",
        "1277.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "::1%25lo",
        "[::1%lo]",
        # Whoever answers for these names can answer something else the next time.
        "localtest.me",
        "lvh.me",
        "127.0.0.1.nip.io",
        "127-0-0-1.sslip.io",
        "localhost.localdomain",
        "ip6-localhost",
        # Near, but not here.
        "192.168.0.1",
        "172.17.0.1",
        "fc00::1",
        "fe80::1",
        "printer.local",
        "host.docker.internal",
    ],
)
def test_not_loopback(host):
    assert not is_loopback(host)


@pytest.mark.parametrize("host", ["localhost", "127.1", "[::1]", "0.0.0.0", "0", "0x0", "[::]", "::", "0:0::0"])
def test_a_connection_ends_here(host):
    assert is_here(host)


@pytest.mark.parametrize("host", ["0.0.0.1", "::2", "0.0.0.0.example", "10.0.0.1", "169.254.169.254", "", "00x"])
def test_a_connection_ends_elsewhere(host):
    assert not is_here(host)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("169.254.169.254", True),
        ("0xa9fea9fe", True),
        ("2852039166", True),
        ("metadata.google.internal", True),
        ("[fd00:ec2::254]", True),
        ("::ffff:169.254.169.254", True),
        ("[::ffff:a9fe:a9fe]", True),
        ("0251.0376.0251.0376", True),
        ("169.16689662", True),
        ("169.254.43518", True),
        ("METADATA.google.internal.", True),
        ("169.254.170.2", True),
        ("100.100.100.200", True),
        ("192.0.0.192", True),
        ("168.63.129.16", True),
        ("::ffff:100.100.100.200", True),
        ("[fd00:ec2:0:0::254]", True),
        ("fd20:ce::254", True),
        ("64:ff9b::169.254.169.254", True),
        ("::ffff:0:a9fe:a9fe", False),
        ("metadata.google.internal.evil.example", False),
        ("169.254.169.253", False),
        ("metadata.example.com", False),
    ],
)
def test_metadata(host, expected):
    assert is_metadata(host) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:3000/", False),
        ("http://localhost:3000/a/b?c=d&e=f#g", False),
        ("http://localhost:3000/login?next=/home", False),
        ("http://localhost:3000/login?next=http://localhost:3000/home", False),
        ("http://localhost:3000/cb?to=http%3A%2F%2F127.0.0.1%3A8080%2Fx", False),
        ("http://localhost/proxy?url=https://evil.example/x", True),
        ("http://localhost/proxy/https://evil.example/x", True),
        ("http://localhost/proxy/https:/evil.example/x", True),
        ("http://localhost?https://evil.example", True),
        ("http://localhost/go?to=//evil.example/x", True),
        ("http://localhost//evil.example/x", True),
        ("http://localhost/go?to=https%3A%2F%2Fevil.example%2Fx", True),
        ("http://localhost/go?to=https%253A%252F%252Fevil.example", True),
        ("http://localhost/go?to=%68ttps:evil.example", True),
        ("http://localhost/go?to=HTTPS://EVIL.example", True),
        ("http://localhost/go?to=http://localhost@evil.example/", True),
        ("http://localhost/go?to=http://localhost.evil.example/", True),
        ("http://localhost/go?to=\\\\evil.example", True),
        ("http://localhost/go?to=%252525252541", True),
        ("http://localhost:9222/json/new?https://evil.example", True),
        ("http://localhost:2375/containers/json", True),
        ("http://127.0.0.1:2376/", True),
        ("http://127.0.0.1:11434/api/pull", True),
        ("http://127.0.0.1:11434/api/generate", False),
        ("http://127.0.0.1:23750/", False),
    ],
)
def test_what_makes_this_machine_ask_another(url, expected):
    assert leads_elsewhere(url) is expected


DOMAINS = (
    TrustedDomain("docs.python.org"),
    TrustedDomain("*.example.com", content=True),
    TrustedDomain("x.example.com"),
    TrustedDomain("bücher.example"),
    TrustedDomain("*.local"),
    TrustedDomain("192.168.0.0/16"),
    TrustedDomain("[fd00::/8]"),
)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("docs.python.org", "docs.python.org"),
        ("DOCS.Python.Org.", "docs.python.org"),
        ("a.example.com", "*.example.com"),
        ("a.b.example.com", "*.example.com"),
        ("x.example.com", "*.example.com"),
        ("xn--bcher-kva.example", "bücher.example"),
        ("example.com", None),
        ("evilexample.com", None),
        ("a.example.com.evil.example", None),
        ("python.org", None),
        ("evil-docs.python.org", None),
        ("x.docs.python.org", None),
        ("docs.python.org.evil", None),
        ("docs.python.org%2eevil", None),
        ("printer.local", "*.local"),
        ("printer.local.evil.example", None),
        ("192.168.4.5", "192.168.0.0/16"),
        ("0xc0a80405", "192.168.0.0/16"),
        ("::ffff:192.168.4.5", "192.168.0.0/16"),
        ("192.168.4.5.nip.io", None),
        ("192.169.0.1", None),
        ("fd12::1", "[fd00::/8]"),
        ("fe80::1", None),
        ("10.0.0.1", None),
        ("", None),
    ],
)
def test_trusted(host, expected):
    found = find_trusted(host, HostView(rules=AnalysisRules(trusted_domains=DOMAINS)))
    assert (found.host if found else None) == expected


@given(st.text(max_size=40))
def test_no_host_is_refused_with_an_error(host):
    is_loopback(host)
    is_metadata(host)
    find_trusted(host, HostView(rules=AnalysisRules(trusted_domains=DOMAINS)))
