"""Which hosts count as this machine, for everything that sends or answers."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.resources.loopback import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.255.0.3", "::1"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        *("", "localhost.", "localhost.evil.example", "xlocalhost", "127.evil.example", "127.0.0.1.evil.example"),
        *("127.0.0.1.", "127.1", "0177.0.0.1", "127.0.0.01", "127.0.0.256", "127.0.0.-1", "127.0.0.+1", "127.0.0."),
        *("127.0.0.\u0661", "127.0.0.\xb2", "127.0.0. 1", "127.0.0." + "1" * 9000, "128.0.0.1", "0.0.0.0", "10.0.0.1"),
        *("::", "[::1]", "2130706433", "::ffff:10.0.0.1"),
    ],
    ids=lambda host: ascii(host[:30]),
)
def test_others(host: str) -> None:
    assert not is_loopback(host)


@given(address=st.ip_addresses() | st.ip_addresses(network="127.0.0.0/8"))
def test_what_counts_is_an_address_of_this_machine(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    assert not is_loopback(str(address)) or address.is_loopback
    assert address.version == 6 or is_loopback(str(address)) == address.is_loopback
