"""Links and sessions: who gets in, how often, and for how long."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest

from lockgate.service.http.auth import tokens
from lockgate.service.http.auth.login_links import LoginLinkFile
from lockgate.service.http.auth.sessions import IDLE_SECONDS, LASTS_SECONDS, LINK_SECONDS, MOST_WRONG, Access
from lockgate.service.http.problems import RequestRefused
from support.api_server import Machine, Server


def test_a_link_begins_one_session_and_no_second_one(server: Server) -> None:
    first, second = server.browser(), server.browser()
    token = server.another_link()
    told = first.post("login", json={"token": token})
    assert told.status_code == 200
    cookie = told.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert not any(name in cookie.lower() for name in ("domain=", "max-age=", "expires="))
    stolen = second.post("login", json={"token": token})
    assert (stolen.status_code, stolen.json()["code"]) == (401, "link-twice")
    assert "set-cookie" not in stolen.headers


def records(machine: Machine, event: str) -> int:
    with machine.store.reading() as tx:
        return sum(json.loads(row.body)["event"] == event for row in tx.audit())


def test_a_link_that_two_have_used_logs_the_first_one_out_and_the_person_is_told(
    machine: Machine, server: Server
) -> None:
    """Which of the two the person is nobody knows: it may be the second."""
    words = "used by two browsers"
    before = sum(words in line for line in server.said)
    other, token = server.person(), server.another_link()
    thief, person = server.browser(), server.browser()
    thief.headers["X-CSRF-Token"] = thief.post("login", json={"token": token}).json()["csrf"]
    assert thief.get("me").status_code == 200
    assert person.post("login", json={"token": token}).json()["code"] == "link-twice"
    refused = thief.get("me")
    assert (refused.status_code, refused.json()["code"]) == (401, "link-twice"), "and a page can say why"
    server.wait_for(words)
    assert other.get("me").status_code == 200, "no other session has to do with it"
    for _ in range(3):  # once is enough, in the terminal and in the audit
        assert person.post("login", json={"token": token}).json()["code"] == "link-twice"
    assert server.person().get("me").status_code == 200
    assert sum(words in line for line in server.said) == before + 1
    deadline = time.monotonic() + 10
    while records(machine, "login-twice") < before + 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert records(machine, "login-twice") == before + 1


def test_the_same_browser_may_follow_a_link_twice(server: Server) -> None:
    browser, token = server.browser(), server.another_link()
    browser.headers["X-CSRF-Token"] = browser.post("login", json={"token": token}).json()["csrf"]
    again = browser.post("login", json={"token": token})
    assert (again.status_code, again.json()["code"]) == (401, "link-here")
    assert "set-cookie" not in again.headers
    assert browser.get("me").status_code == 200


@pytest.mark.parametrize("csrf", ["", "x", "own"])
def test_a_thief_cannot_pass_for_the_persons_browser(server: Server, csrf: str) -> None:
    """Their cookie can get into it: a server at another port of this host sets it for all of them."""
    earlier, thief = server.person(), server.browser()
    token = server.another_link()
    thief.headers["X-CSRF-Token"] = thief.post("login", json={"token": token}).json()["csrf"]
    person = server.browser(cookies=dict(thief.cookies))
    person.headers["X-CSRF-Token"] = earlier.headers["X-CSRF-Token"] if csrf == "own" else csrf
    assert person.post("login", json={"token": token}).json()["code"] == "link-twice"
    assert thief.get("me").status_code == 401
    server.wait_for("used by two browsers")


def test_a_used_link_is_told_apart_from_a_wrong_one_for_as_long_as_it_is_remembered(access: Access) -> None:
    told: list[int] = []
    access.on_twice = lambda: told.append(1)
    links = [access.new_link()]
    cookie, csrf, _ = access.login(links[0])
    caller = access.person([cookie], csrf)
    assert caller is not None
    access.logout(caller)
    with pytest.raises(RequestRefused, match="two browsers"):
        access.login(links[0])
    assert told == [1], "also when whoever was first has gone"
    for _ in range(200):
        links.append(access.new_link())
        access.login(links[-1])
    with pytest.raises(RequestRefused, match="is too old"):
        access.login(links[0])
    access.new_link()
    with pytest.raises(RequestRefused, match="is too old"):
        access.login(access.new_link()[:-1])
    assert told == [1]


def test_a_new_link_takes_the_place_of_the_one_before(server: Server) -> None:
    old, new = server.another_link(), server.another_link()
    assert server.browser().post("login", json={"token": old}).status_code == 401
    assert server.browser().post("login", json={"token": new}).status_code == 200


def test_both_secrets_of_a_session_are_needed(server: Server) -> None:
    person = server.person()
    csrf = person.headers.pop("X-CSRF-Token")
    assert person.get("me").status_code == 401, "the cookie alone"
    person.headers["X-CSRF-Token"] = csrf[:-1] + ("A" if csrf[-1] != "A" else "B")
    assert person.get("me").status_code == 401, "another header"
    person.headers["X-CSRF-Token"] = csrf
    assert person.get("me").status_code == 200
    person.cookies.clear()
    assert person.get("me").status_code == 401, "the header alone"


def test_two_sessions_do_not_mix(server: Server) -> None:
    one, other = server.person(), server.person()
    one.headers["X-CSRF-Token"] = other.headers["X-CSRF-Token"]
    assert one.get("me").status_code == 401
    assert other.get("me").status_code == 200


def test_who_logs_out_is_out(server: Server) -> None:
    person = server.person()
    kept = dict(person.cookies)
    answer = person.post("logout")
    assert answer.status_code == 204
    assert "Max-Age=0" in answer.headers["set-cookie"]
    person.cookies.update(kept)
    assert person.get("me").status_code == 401


def test_a_session_dies_with_the_process(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.serve() as server:
        person = server.person()
        kept, port = dict(person.cookies), server.port
        csrf = person.headers["X-CSRF-Token"]
    with machine.serve(listen=f"127.0.0.1:{port}") as again:
        browser = again.browser(cookies=kept)
        browser.headers["X-CSRF-Token"] = csrf
        assert browser.get("me").status_code == 401
    machine.store.close()


# -- with a clock that is set


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def access(clock: Clock) -> Access:
    return Access("ann", clock)


@pytest.mark.parametrize(("seconds", "works"), [(0.0, True), (LINK_SECONDS - 0.1, True), (LINK_SECONDS, False)])
def test_a_link_works_for_a_minute(access: Access, clock: Clock, seconds: float, works: bool) -> None:
    token = access.new_link()
    clock.now += seconds
    try:
        access.login(token)
    except RequestRefused as refused:
        assert not works
        assert refused.code == "link"
    else:
        assert works


@pytest.mark.parametrize("token", ["", "x", "a" * 43, "ü", "\ud800"])
def test_what_is_no_link_does_not_use_one_up(access: Access, token: str) -> None:
    link = access.new_link()
    with pytest.raises(RequestRefused):
        access.login(token)
    assert access.login(link)


def test_no_link_is_none(access: Access) -> None:
    for token in ("", "x"):
        with pytest.raises(RequestRefused):
            access.login(token)


def test_wrong_logins_are_slowed_down_and_the_right_one_still_gets_in(access: Access, clock: Clock) -> None:
    link = access.new_link()
    refusals = []
    for _ in range(MOST_WRONG + 3):
        with pytest.raises(RequestRefused) as refused:
            access.login("wrong")
        refusals.append(refused.value)
    assert [each.status for each in refusals] == [401] * MOST_WRONG + [429] * 3
    assert 0 < int(refusals[-1].headers["Retry-After"]) <= 60
    assert access.login(link), "nobody keeps the person out by guessing"
    clock.now += 61
    with pytest.raises(RequestRefused) as refused:
        access.login("wrong")
    assert refused.value.status == 401


@pytest.mark.parametrize(
    ("steps", "lives"),
    [
        pytest.param([IDLE_SECONDS - 1], True, id="idle"),
        pytest.param([IDLE_SECONDS], False, id="idle-too-long"),
        pytest.param([IDLE_SECONDS - 1] * 2, True, id="used"),
        pytest.param([IDLE_SECONDS / 2] * int(2 * LASTS_SECONDS / IDLE_SECONDS), False, id="used-too-long"),
    ],
)
def test_a_session_ends(access: Access, clock: Clock, steps: list[float], lives: bool) -> None:
    cookie, csrf, _ = access.login(access.new_link())
    caller = access.person([cookie], csrf)
    assert caller is not None
    for step in steps:
        clock.now += step
        caller = access.person([cookie], csrf)
    assert (caller is not None) is lives


@pytest.mark.parametrize("count", [1, 8, 180])
def test_other_cookies_of_the_same_name_do_not_lock_out(server: Server, count: int) -> None:
    """A page of any server at another port of this host can set as many as a browser keeps of a host."""
    person = server.person()
    cookie = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    person.cookies.clear()
    planted = "; ".join(f"lockgate=planted{number}" for number in range(count))
    for sent in (f"{planted}; {cookie}", f"{cookie}; {planted}"):
        assert person.get("me", headers={"Cookie": sent}).status_code == 200


# -- the file that leads a browser to the link


def test_only_its_owner_can_read_the_file_that_leads_to_the_link(tmp_path: Path) -> None:
    leader = LoginLinkFile(str(tmp_path))
    path = Path(leader.write("http://127.0.0.1:1/#login=x&y"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "http://127.0.0.1:1/#login=x&amp;y" in path.read_text()
    other = Path(leader.write("http://127.0.0.1:1/#login=z"))
    assert not path.exists(), "one at a time"
    LoginLinkFile(str(tmp_path))
    assert not other.exists(), "and none of a process that was killed"


def test_the_browser_is_told_a_path_and_no_secret(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    seen = tmp_path / "seen"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}.new\ncp "$(echo "$1" | sed s,^file://,,)" {seen}.page\n'
                      f"mv {seen}.new {seen}\n")  # fmt: skip
    script.chmod(0o755)
    machine.environment["BROWSER"] = str(script)
    with machine.serve(browser=True) as server:
        deadline = time.monotonic() + 10
        while not seen.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        (argument,) = seen.read_text().splitlines()
        assert argument.startswith(f"file://{machine.state}/dashboard/open-")
        assert server.token not in argument
        assert server.token in Path(f"{seen}.page").read_text()
        page = Path(argument.removeprefix("file://"))
        assert page.exists()
        server.browser().post("login", json={"token": server.token}).raise_for_status()
        assert not page.exists(), "gone once it was used"
    machine.store.close()


def test_a_browser_for_the_terminal_is_not_taken_for_one(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    browser = programs / "www-browser"
    browser.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\nexec sleep 60\n")
    browser.chmod(0o755)
    machine.environment["PATH"] = f"{programs}:{machine.environment['PATH']}"
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        machine.environment.pop(name, None)
    with machine.serve(browser=True) as server:
        server.browser().post("login", json={"token": server.token}).raise_for_status()
        server.wait_for("no browser could be opened")
    assert not (tmp_path / "started").exists()
    machine.store.close()


def test_nobody_waits_for_a_browser_that_is_waited_for(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    script = tmp_path / "browser"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    machine.environment["BROWSER"] = str(script)
    with machine.serve(browser=True) as server:
        server.browser().post("login", json={"token": server.token}).raise_for_status()
    machine.store.close()


def test_no_secret_is_in_the_log(server: Server) -> None:
    token = server.another_link()
    client = server.browser()
    client.post("login", json={"token": "wrong-" + token})
    told = client.post("login", json={"token": token}).json()
    client.get("me", headers={"Host": "evil.example"})
    secrets = (token, told["csrf"], client.cookies["lockgate"])
    assert not any(secret in line for secret in secrets for line in server.logged)


# -- the command


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        pytest.param(["dashboard"], {}, id="no-terminal"),
        pytest.param(["dashboard"], {"CLAUDECODE": "1"}, id="agent"),
        pytest.param(["dashboard", "--tokens-only"], {"CLAUDECODE": "1"}, id="agent-tokens-only"),
        pytest.param(["dashboard", "tokens", "add", "x", "--scope", "approve"], {}, id="approving-token"),
        pytest.param(["dashboard", "tokens", "add", "x"], {"CODEX_SANDBOX": "1"}, id="agent-token"),
        pytest.param(["dashboard", "tokens", "remove", "x"], {"GEMINI_CLI": "1"}, id="agent-removes"),
    ],
)
def test_only_a_person_opens_a_way_in(machine: Machine, arguments: list[str], environment: dict[str, str]) -> None:
    done = machine.run(*arguments, **environment)
    assert done.returncode == 1
    assert "only a person may" in done.stderr
    assert "login=" not in done.stdout
    assert "lgt_" not in done.stdout


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(["--listen", "0.0.0.0:0"], id="all-addresses"),
        pytest.param(["--listen", "192.0.2.1:8443"], id="another-address"),
        pytest.param(["--listen", "[::]:0"], id="all-addresses-6"),
        pytest.param(["--listen", "nowhere"], id="no-port"),
    ],
)
def test_beyond_loopback_needs_tls(machine: Machine, settings: list[str]) -> None:
    done = machine.run("dashboard", "--tokens-only", *settings)
    assert done.returncode == 1
    assert "tls" in done.stderr or "HOST:PORT" in done.stderr


def test_a_certificate_that_is_none_is_told_before_anything_listens(machine: Machine) -> None:
    file = machine.home / "no.pem"
    file.write_text("no certificate")
    done = machine.run("dashboard", "--tokens-only", "--tls-cert", str(file), "--tls-key", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    assert "the certificate or its key cannot be used" in done.stderr


def test_a_port_that_is_taken_is_told(machine: Machine, server: Server) -> None:
    done = machine.run("dashboard", "--tokens-only", "--port", str(server.port))
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be listened on" in done.stderr


def test_without_links_nobody_logs_in(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with machine.serve(tokens_only=True) as server:
        assert not any("#login=" in line for line in server.said)
        for token in ("", "x"):
            assert server.browser().post("login", json={"token": token}).status_code in (401, 422)
        assert server.program(tokens.add(machine.store, "x", "read")).get("me").status_code == 200
    machine.store.close()
