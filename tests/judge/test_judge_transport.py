"""Servers and networks that misbehave: what may pass is tried again, and everything has one deadline."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from judge.questions import KEY, judge, plain, question
from lockgate.core.questions import Opinion
from support import fake_judge
from support.fake_judge import FakeJudge, fine, honest, raw

pytestmark = pytest.mark.slow

BUSY = raw(b"{}", 503)


# ---------------------------------------------------------------- what may pass
PASSING = [
    pytest.param([raw(b"{}", 429)], id="429"),
    pytest.param([raw(b"{}", 429, retry_after="0")], id="429 with a number of seconds"),
    pytest.param([raw(b"{}", 429, retry_after=formatdate(0, usegmt=True))], id="429 with a date"),
    pytest.param([raw(b"{}", 429, retry_after="Wed, 21 Oct 99999999999999 07:28:00 GMT")], id="429 with no year"),
    pytest.param([raw(b"{}", 429, retry_after="soon")], id="429 with a word"),
    pytest.param([raw(b"{}", 500)], id="500"),
    pytest.param([raw(b"<html>", 502, content_type="text/html"), raw(b"", 529)], id="502, then 529"),
    pytest.param([fake_judge.closed], id="hangs up"),
    pytest.param([fake_judge.cut], id="hangs up in the middle of its answer"),
    pytest.param([BUSY, BUSY, BUSY], id="three times"),
]


@pytest.mark.parametrize("first", PASSING)
def test_what_passes_is_tried_again(tmp_path: Path, first: list[fake_judge.Behaviour]) -> None:
    with FakeJudge(*first, honest) as server:
        assert plain(judge(server, tmp_path / "s").ask(question())) == (False, "")
        assert len(server.seen) == len(first) + 1
        assert len({str(seen.body) for seen in server.seen}) == 1


def test_it_is_not_tried_for_ever(tmp_path: Path) -> None:
    with FakeJudge(BUSY) as server:
        opinion = judge(server, tmp_path / "s", timeout_seconds=60).ask(question())
        assert len(server.seen) == 4
    assert opinion.flagged
    assert "status 503" in opinion.failed


def test_nobody_waits_longer_for_an_endpoint_than_there_is_time(tmp_path: Path) -> None:
    with FakeJudge(raw(b"{}", 429, retry_after="3600"), fine) as server:
        opinion = judge(server, tmp_path / "s", timeout_seconds=60).ask(question())
        assert len(server.seen) == 1
    assert plain(opinion) == (True, "the endpoint limits how much is asked (status 429)")


@pytest.mark.parametrize(
    ("status", "said"),
    [(400, "does not understand"), (401, "accept the key"), (402, "money"), (404, "model"), (418, "otherwise")],
)
def test_what_does_not_pass_is_not_tried_again(tmp_path: Path, status: int, said: str) -> None:
    with FakeJudge(raw(KEY.encode(), status), fine) as server:
        opinion = judge(server, tmp_path / "s").ask(question())
        assert len(server.seen) == 1
    assert opinion.flagged
    assert said in opinion.failed


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        opinion = judge(f"http://127.0.0.1:{unused.getsockname()[1]}", tmp_path / "s").ask(question())
    assert plain(opinion) == (True, "the endpoint cannot be reached (ConnectError)")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(tmp_path: Path, status: int) -> None:
    with FakeJudge(fine) as elsewhere, FakeJudge(raw(b"{}", status, location=elsewhere.url + "/v1/messages")) as server:
        opinion = judge(server, tmp_path / "s").ask(question())
        assert elsewhere.seen == []
    assert plain(opinion) == (True, f"the endpoint wants to send the question elsewhere (status {status})")


# ---------------------------------------------------------------- the deadline
SLOW = [
    pytest.param(fake_judge.silent, id="says nothing"),
    pytest.param(fake_judge.drips("headers"), id="drips headers"),
    pytest.param(fake_judge.drips("body"), id="drips a body"),
]


@pytest.mark.parametrize("behaviour", SLOW)
def test_an_endpoint_that_is_slow_in_any_way_ends_at_the_deadline(
    tmp_path: Path, behaviour: fake_judge.Behaviour
) -> None:
    with FakeJudge(behaviour) as server:
        opinion = judge(server, tmp_path / "s", timeout_seconds=0.5).ask(question())
    assert plain(opinion) == (True, "there was no answer within 0.5 s")


def test_a_deadline_tells_what_went_wrong_before_it(tmp_path: Path) -> None:
    with FakeJudge(BUSY, fake_judge.silent) as server:
        opinion = judge(server, tmp_path / "s", timeout_seconds=3).ask(question())
    assert opinion.failed.endswith("(the endpoint answered otherwise than it must (status 503))")


def test_a_server_that_never_accepts_ends_at_the_deadline(tmp_path: Path) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(1)
        opinion = judge(f"http://127.0.0.1:{deaf.getsockname()[1]}", tmp_path / "s", timeout_seconds=0.5).ask(
            question()
        )
    assert plain(opinion) == (True, "there was no answer within 0.5 s")


# ---------------------------------------------------------------- how many at once
def test_no_more_are_asked_at_once_than_is_said(tmp_path: Path) -> None:
    def slowly(handler: fake_judge.Handler, seen: fake_judge.Seen) -> None:
        handler.world.over.wait(0.05)
        honest(handler, seen)

    with FakeJudge(slowly) as server, ThreadPoolExecutor(12) as many:
        asked = judge(server, tmp_path / "s", max_concurrent=2, timeout_seconds=30)
        told = list(many.map(asked.ask, [question(f"make {number}") for number in range(12)]))
        assert [plain(opinion) for opinion in told] == [(False, "")] * 12
        assert server.most == 2


def test_the_wait_for_a_slot_counts(tmp_path: Path) -> None:
    results: list[Opinion] = []
    with FakeJudge(fake_judge.silent) as server:
        first = judge(server, tmp_path / "s", max_concurrent=1, timeout_seconds=20)
        thread = threading.Thread(target=lambda: results.append(first.ask(question("make 1"))))
        thread.start()
        while not server.seen:
            thread.join(0.01)
        waiting = judge(server, tmp_path / "s", max_concurrent=1, timeout_seconds=0.5)
        opinion = waiting.ask(question("make 2"))
        assert len(server.seen) == 1
        server.over.set()
        thread.join()
    assert plain(opinion) == (True, "there was no answer within 0.5 s (as many questions as may be are under way)")


# ---------------------------------------------------------------- TLS and the environment
@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that nobody trusts, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    paths = (str(folder / "cert.pem"), str(folder / "key.pem"))
    options = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", paths[1], "-out", paths[0]]
    subprocess.run(["openssl", "req", "-x509", *options, *names, *files], check=True, capture_output=True)
    return paths


def test_a_certificate_that_nobody_trusts_is_refused_at_once(tmp_path: Path, certificate: tuple[str, str]) -> None:
    with FakeJudge(fine, tls=certificate) as server:
        opinion = judge(server, tmp_path / "s").ask(question())
        assert server.seen == []
    assert plain(opinion) == (True, "the endpoint's certificate is not trusted")


def test_a_certificate_of_ones_own_can_be_trusted(tmp_path: Path, certificate: tuple[str, str]) -> None:
    with FakeJudge(fine, tls=certificate) as server:
        opinion = judge(server, tmp_path / "s", ca_file=certificate[0]).ask(question())
    assert plain(opinion) == (False, "")


def test_a_file_of_certificates_that_is_none(tmp_path: Path, certificate: tuple[str, str]) -> None:
    with FakeJudge(fine, tls=certificate) as server:
        for file in (certificate[1], "/nonexistent", str(tmp_path)):
            opinion = judge(server, tmp_path / "s", ca_file=file).ask(question())
            assert plain(opinion) == (True, "judge.ca_file cannot be read as certificates")


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch, certificate: tuple[str, str]) -> Iterator[FakeJudge]:
    """Variables as a project's settings may set them: all ways that are known to lead elsewhere."""
    with FakeJudge(fine) as elsewhere:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, elsewhere.url)
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
            monkeypatch.setenv(name, elsewhere.url)
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.setenv(name, certificate[0])
        yield elsewhere


def test_the_environment_does_not_say_where_a_question_goes(
    tmp_path: Path, hostile: FakeJudge, certificate: tuple[str, str]
) -> None:
    with FakeJudge(honest) as server:
        assert plain(judge(server, tmp_path / "s").ask(question())) == (False, "")
        assert len(server.seen) == 1
    with FakeJudge(fine, tls=certificate) as server:
        assert plain(judge(server, tmp_path / "s").ask(question("make"))) == (
            True,
            "the endpoint's certificate is not trusted",
        )
    assert hostile.seen == []


class Proxy(BaseHTTPRequestHandler):
    """Connects to where it is asked to, and passes bytes on."""

    asked: list[str]

    def do_CONNECT(self) -> None:
        self.asked.append(self.path)
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=self._pass, args=(there, self.connection))
            back.start()
            self._pass(self.connection, there)
            back.join()

    @staticmethod
    def _pass(here: socket.socket, there: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := here.recv(65536):
                there.sendall(data)
            there.shutdown(socket.SHUT_WR)

    def log_message(self, *_: object) -> None:
        pass


def test_a_proxy_is_used_where_the_configuration_says_so(tmp_path: Path, certificate: tuple[str, str]) -> None:
    asked: list[str] = []
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Proxy,), {"asked": asked}))
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with FakeJudge(honest, tls=certificate) as server:
            url = f"http://127.0.0.1:{proxy.server_address[1]}"
            opinion = judge(server, tmp_path / "s", proxy=url, ca_file=certificate[0]).ask(question())
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
    assert plain(opinion) == (False, "")
    assert asked == [server.url.removeprefix("https://")]


# ---------------------------------------------------------------- the key
def test_the_key_is_in_no_log_error_or_text_of_anything(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    behaviours = [raw(KEY.encode(), 401), raw(KEY.encode()), fake_judge.closed, fake_judge.cut, honest]
    told = []
    with FakeJudge(*behaviours) as server:
        for number in range(3):
            asked = judge(server, tmp_path / "s")
            told += [asked.ask(question(f"make {number}")), asked, vars(asked)["_settings"]]
        assert all(seen.headers["x-api-key"] == KEY for seen in server.seen)
        assert all(KEY not in f"{seen.path}{seen.body}" for seen in server.seen)
    out, err = capfd.readouterr()
    assert KEY not in f"{told!r}{caplog.text}{out}{err}"
    assert all(KEY not in path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file())
