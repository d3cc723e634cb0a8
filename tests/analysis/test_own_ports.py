"""No agent talks to the gate's own dashboard; other servers on this machine are local as ever."""

from __future__ import annotations

from typing import Any

import pytest

from lockgate.analysis import analyse
from lockgate.core.model import EffectKind, ToolCall, Variant
from lockgate.resources.host_view import HostView

PORT = 48123
PROJECT = "/home/user/project"
OWN = [
    f"curl http://127.0.0.1:{PORT}/api/v1/approvals",
    f"curl -s localhost:{PORT}/login -d x=1",
    f"curl http://[::1]:{PORT}/",
    f"curl http://user:pw@127.0.0.1:{PORT}/",
    f"curl http://127.1:0{PORT}/",
    f"curl http://0.0.0.0:{PORT}/",
    f"wget -qO- http://localhost:{PORT}",
    f"nc 127.0.0.1 {PORT} < request",
    f"nc -v localhost {PORT}",
    "nc localhost $port",
    f"exec 3<>/dev/tcp/127.0.0.1/{PORT}",
    f"echo x > /dev/tcp/localhost/{PORT}",
    "exec 3<>/dev/tcp/127.0.0.1/$port",
    f"exec 3<>/dev/tcp/127.0.0.1/{PORT + 65536}",
    f"exec 3<>/dev/tcp/127.0.0.1/{2**64 + PORT}",
    f"nc 127.0.0.1 0{PORT:o}",
    f"socat - TCP:127.0.0.1:{PORT:#x}",
    f"http POST http://localhost:{PORT}/api x=1",
]
OTHERS = [
    "curl http://127.0.0.1:8000/health",
    "curl -X POST localhost:3000/items -d @item.json",
    "curl http://localhost/",
    "nc -z 127.0.0.1 5432",
    "exec 3<>/dev/tcp/127.0.0.1/5432",
    "wget -qO- http://localhost:8080",
]


def effects(tool: str, given: dict[str, Any], ports: frozenset[int]) -> list[tuple[EffectKind, Variant, str]]:
    around = HostView(workspace=PROJECT, own_ports=lambda: ports)
    found = analyse(ToolCall(tool, given, PROJECT), around)
    return [(effect.kind, effect.variant, effect.rule) for effect in found.effects]


def is_stopped(tool: str, given: dict[str, Any], ports: frozenset[int] = frozenset({PORT})) -> bool:
    return (EffectKind.TAMPER, Variant.SELF, "address:own") in effects(tool, given, ports)


@pytest.mark.parametrize("command", OWN)
def test_the_dashboard_is_no_agents(command: str) -> None:
    assert is_stopped("Bash", {"command": command})


@pytest.mark.parametrize("command", OWN)
def test_without_a_dashboard_there_is_nothing_to_guard(command: str) -> None:
    assert not is_stopped("Bash", {"command": command}, frozenset())


@pytest.mark.parametrize("command", OTHERS)
def test_other_servers_of_this_machine_are_local(command: str) -> None:
    assert not effects("Bash", {"command": command}, frozenset({PORT}))


def test_a_fetch_is_held_to_it_too() -> None:
    assert is_stopped("WebFetch", {"url": f"http://localhost:{PORT}/", "prompt": "read"})
    assert not is_stopped("WebFetch", {"url": "http://localhost:8000/", "prompt": "read"})


@pytest.mark.parametrize(
    "command",
    [
        "p=$(ss -ltn | tail -1); curl http://127.0.0.1:$p/",
        f"python3 -c \"import urllib.request as u; u.urlopen('http://127.0.0.1:{PORT}/')\"",
        f"python3 -c \"import socket; socket.create_connection(('127.0.0.1', {PORT}))\"",
    ],
)
def test_what_may_lead_there_is_not_local(command: str) -> None:
    assert effects("Bash", {"command": command}, frozenset({PORT}))


ROOM = 3000


@pytest.mark.parametrize(
    "command",
    [
        "curl localhost:3000",
        "curl -s http://127.0.0.1:3000/x",
        "curl http://[::1]:3000/",
        'curl "localhost:$PORT"',
        "wget -qO- localhost:3000",
        "nc -z 127.0.0.1 3000",
        "exec 3<>/dev/tcp/127.0.0.1/3000",
    ],
)
def test_what_asks_a_contained_server_is_contained_with_it(command: str) -> None:
    around = HostView(workspace=PROJECT, contained_ports=lambda: frozenset({ROOM}))
    expected = (EffectKind.EXECUTE, Variant.UNLISTED, "shell:contained-server")
    found = analyse(ToolCall("Bash", {"command": command}, PROJECT), around).effects
    assert expected in [(effect.kind, effect.variant, effect.rule) for effect in found]
    elsewhere = around._replace(contained_ports=frozenset)
    found = analyse(ToolCall("Bash", {"command": command}, PROJECT), elsewhere).effects
    assert expected not in [(effect.kind, effect.variant, effect.rule) for effect in found]


@pytest.mark.parametrize("command", ["curl localhost:3001", "curl https://shop.example:3000/", "echo 3000", "ls"])
def test_what_asks_another_one_is_not(command: str) -> None:
    around = HostView(workspace=PROJECT, contained_ports=lambda: frozenset({ROOM}))
    found = analyse(ToolCall("Bash", {"command": command}, PROJECT), around).effects
    assert "shell:contained-server" not in [effect.rule for effect in found]


@pytest.mark.parametrize("command", OWN)
def test_a_contained_server_hides_no_dashboard(command: str) -> None:
    """Also where it takes the very port: in its own network it may."""
    ports = frozenset({PORT})
    around = HostView(workspace=PROJECT, own_ports=lambda: ports, contained_ports=lambda: ports)
    found = analyse(ToolCall("Bash", {"command": command}, PROJECT), around).effects
    assert "address:own" in [effect.rule for effect in found]


def test_code_that_asks_a_contained_server_sends_nothing() -> None:
    around = HostView(workspace=PROJECT, contained_ports=lambda: frozenset({ROOM}))
    code = "import urllib.request as u; print(u.urlopen('http://localhost:3000/').read())"
    found = analyse(ToolCall("Bash", {"command": f'python3 -c "{code}"'}, PROJECT), around).effects
    assert EffectKind.EGRESS not in [effect.kind for effect in found]


def test_a_page_on_the_port_of_a_contained_server_is_one_of_this_machine() -> None:
    """No tool for pages reaches the server, and no question makes it."""
    around = HostView(workspace=PROJECT, contained_ports=lambda: frozenset({ROOM}))
    for port in (ROOM, ROOM + 1):
        call = ToolCall("WebFetch", {"url": f"http://localhost:{port}/", "prompt": "x"}, PROJECT)
        assert analyse(call, around).effects == ()
    here = around._replace(own_ports=lambda: frozenset({ROOM}))
    call = ToolCall("WebFetch", {"url": f"http://localhost:{ROOM}/", "prompt": "x"}, PROJECT)
    assert [effect.rule for effect in analyse(call, here).effects] == ["address:own"]
    call = ToolCall("WebFetch", {"url": f"http://there.example:{ROOM}/", "prompt": "x"}, PROJECT)
    assert "address:fetch" in [effect.rule for effect in analyse(call, around).effects]
