"""Which judge a configuration describes, whether it can be asked, and where its key comes from."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from judge.questions import KEY, judge, plain, question
from lockgate.core.errors import JudgeError, LockgateError
from lockgate.gate.judge import api_key as keys
from lockgate.gate.judge.api_key import ApiKey, can_be_asked, find_key, why_not
from lockgate.gate.judge.judge import Judge, ask
from lockgate.gate.judge.settings import JudgeSettings, is_available, is_here, settings_of
from lockgate.store.sqlite.store import SqliteStore

ANTHROPIC = "https://api.anthropic.com"


def test_without_a_word_it_is_a_small_claude_model() -> None:
    settings = settings_of(None)
    assert settings == settings_of({}) == JudgeSettings()
    assert (settings.api, settings.base_url, settings.key_env) == ("anthropic", ANTHROPIC, "ANTHROPIC_API_KEY")
    assert "haiku" in settings.model


def test_openai_has_its_own_address_and_variable() -> None:
    settings = settings_of({"api": "openai", "model": "m"})
    assert (settings.base_url, settings.key_env) == ("https://api.openai.com/v1", "OPENAI_API_KEY")


def test_all_that_can_be_said() -> None:
    said = {
        "api": "openai",
        "model": "m",
        "base_url": "https://models.example.com/v1/",
        "key_env": "K",
        "key_keyring": "service",
        "timeout_seconds": 3,
        "max_concurrent": 2,
        "cache_seconds": 0,
        "ca_file": "/ca.pem",
        "proxy": "http://proxy.example.com:3128",
        "enabled": True,
    }
    assert settings_of({"_why": "a comment", **said}) == JudgeSettings(
        **{**said, "base_url": "https://models.example.com/v1", "timeout_seconds": 3.0}
    )


@pytest.mark.parametrize(
    "said",
    [
        {"base_url": "https://models.example.com"},
        {"base_url": "http://127.0.0.1:11434"},
        {"base_url": "https://api.anthropic.com.example.com"},
        {"base_url": "https://api.anthropic.com:8443"},
        {"key_keyring": "service"},
    ],
)
def test_the_key_of_a_provider_goes_to_nobody_else_unless_it_is_named(said: dict[str, Any]) -> None:
    assert settings_of(said).key_env == ""
    assert settings_of({**said, "key_env": "ANTHROPIC_API_KEY"}).key_env == "ANTHROPIC_API_KEY"


WRONG = [
    {"base_url": "http://models.example.com"},
    {"base_url": "http://127.0.0.1.example.com"},
    {"base_url": "http://localhost.example.com"},
    {"base_url": "http://10.0.0.1"},
    {"base_url": "http://[::2]/"},
    {"base_url": "https://user:secret@example.com"},
    {"base_url": "https://example.com/?key=1"},
    {"base_url": "https://example.com/#a"},
    {"base_url": "https://example.com\n/"},
    {"base_url": "ftp://example.com"},
    {"base_url": "https://"},
    {"api": "openai"},
    {"proxy": "socks5://127.0.0.1"},
    {"proxy": "http://proxy.example.com:3128", "base_url": "http://127.0.0.1:1"},
    {"proxy": "http://user:secret@proxy.example.com"},
]


@pytest.mark.parametrize("said", WRONG)
def test_what_does_not_go_together_is_an_error_that_shows_no_value(said: dict[str, Any]) -> None:
    with pytest.raises(JudgeError) as raised:
        settings_of(said)
    assert "secret" not in str(raised.value)
    assert not can_be_asked(said, {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}, "/nonexistent")


@pytest.mark.parametrize(
    "address", ["http://localhost", "http://LOCALHOST:1/v1", "http://127.9.9.9/", "http://[::1]:80/x"]
)
def test_loopback_needs_neither_tls_nor_a_key(address: str) -> None:
    settings = settings_of({"base_url": address})
    assert is_here(settings.base_url)
    assert is_available(settings, {})


AVAILABLE = [
    pytest.param({}, {"ANTHROPIC_API_KEY": KEY}, "", id="the default key"),
    pytest.param({}, {}, "ANTHROPIC_API_KEY is not set", id="no key"),
    pytest.param({}, {"ANTHROPIC_API_KEY": ""}, "is not set", id="an empty key"),
    pytest.param({"key_env": "K"}, {"ANTHROPIC_API_KEY": KEY}, "K is not set", id="another variable"),
    pytest.param({"enabled": False}, {"ANTHROPIC_API_KEY": KEY}, "turned off", id="turned off"),
    pytest.param({"base_url": "https://m.example.com"}, {"ANTHROPIC_API_KEY": KEY}, "judge.key_env", id="elsewhere"),
    pytest.param({"key_keyring": "s"}, {}, "", id="a keyring, which is not looked into"),
    pytest.param({"base_url": "http://127.0.0.1:1"}, {}, "", id="on this machine"),
    pytest.param({"api": "openai"}, {"OPENAI_API_KEY": KEY}, "model", id="no model"),
]


@pytest.mark.parametrize(("said", "environ", "problem"), AVAILABLE)
def test_whether_it_can_be_asked(tmp_path: Path, said: dict[str, Any], environ: dict[str, str], problem: str) -> None:
    why = why_not(said, environ, str(tmp_path))
    assert problem in why
    assert bool(problem) is bool(why)
    assert can_be_asked(said, environ, str(tmp_path)) is not bool(problem)


def test_it_cannot_be_asked_where_its_library_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "is_installed", lambda _: False)
    assert "extra judge" in why_not({}, {"ANTHROPIC_API_KEY": KEY}, str(tmp_path))


def test_a_question_about_an_impossible_judge_is_answered(tmp_path: Path) -> None:
    asked = question()._replace(options={"api": "openai"})
    opinion = ask(asked, str(tmp_path), lambda: SqliteStore.open(str(tmp_path)), {}, float)
    assert plain(opinion) == (True, "judge.model is needed with api: openai")


# ---------------------------------------------------------------- keys
@pytest.mark.parametrize("text", ["", "a b", "a\nb", "k\u00e9y", "a\x00", "a" * 5000, "x\r\nx-evil: 1"])
def test_what_cannot_be_a_key_is_not_sent(text: str, tmp_path: Path) -> None:
    with pytest.raises(JudgeError) as raised:
        ApiKey(text)
    assert "x-evil" not in str(raised.value)


def test_a_key_shows_itself_to_nobody() -> None:
    key = ApiKey(f" {KEY}\n")
    assert key.reveal() == KEY
    assert KEY not in f"{key} {key!r} {[key]} {vars(ApiKey)}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


class Keyring(ModuleType):
    """A keyring library that holds these values."""

    def __init__(self, *held: str | Exception | None) -> None:
        super().__init__("keyring")
        self.held = list(held)
        self.asked: list[tuple[str, str]] = []

    def get_password(self, service: str, user: str) -> str | None:
        self.asked.append((service, user))
        held = self.held.pop(0) if len(self.held) > 1 else self.held[0]
        if isinstance(held, Exception):
            raise held
        return held


def keyring(monkeypatch: pytest.MonkeyPatch, *held: str | Exception | None) -> Keyring:
    made = Keyring(*held)
    monkeypatch.setitem(sys.modules, "keyring", made)
    return made


SERVICE = {"key_keyring": "my judge", "model": "m"}


def test_a_key_from_the_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = keyring(monkeypatch, KEY)
    found = find_key(settings_of(SERVICE), {}, str(tmp_path))
    assert found is not None
    assert found.reveal() == KEY
    assert ring.asked == [("my judge", "lockgate")]
    assert can_be_asked(SERVICE, {}, str(tmp_path))


def test_a_variable_goes_before_the_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = keyring(monkeypatch, "other")
    found = find_key(settings_of({**SERVICE, "key_env": "K"}), {"K": KEY}, str(tmp_path))
    assert found is not None
    assert found.reveal() == KEY
    assert ring.asked == []


@pytest.mark.parametrize("held", [None, "", RuntimeError(f"locked; it holds {KEY}")])
def test_a_keyring_without_a_key_is_remembered_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str | Exception | None
) -> None:
    state = str(tmp_path)
    keyring(monkeypatch, held, KEY)
    with pytest.raises(LockgateError) as raised:
        find_key(settings_of(SERVICE), {}, state)
    assert KEY not in str(raised.value)
    assert not can_be_asked(SERVICE, {}, state)
    assert "my judge" in why_not(SERVICE, {}, state)
    assert can_be_asked({**SERVICE, "key_keyring": "another"}, {}, state)
    (note,) = (tmp_path / "judge").iterdir()
    os.utime(note, (1, 1))
    assert can_be_asked(SERVICE, {}, state)
    assert find_key(settings_of(SERVICE), {}, state) is not None
    assert list((tmp_path / "judge").iterdir()) == []


def test_a_server_on_this_machine_is_asked_though_the_keyring_has_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {**SERVICE, "base_url": "http://127.0.0.1:1"}
    keyring(monkeypatch, None)
    assert find_key(settings_of(said), {}, str(tmp_path)) is None
    assert can_be_asked(said, {}, str(tmp_path))


def test_a_keyring_that_waits_for_the_person_ends_at_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    over = threading.Event()
    ring = keyring(monkeypatch, KEY)
    monkeypatch.setattr(ring, "get_password", lambda *_: over.wait(30))
    asked = judge("https://127.0.0.1:9", tmp_path / "s", key_env="NOT_SET", key_keyring="x", timeout_seconds=0.5)
    try:
        assert plain(asked.ask(question())) == (True, "the system keyring does not answer")
    finally:
        over.set()


def test_no_key_at_all_is_a_failure_and_nothing_is_sent(tmp_path: Path) -> None:
    settings = settings_of({"base_url": "https://models.example.com", "key_env": "NOT_SET"})
    state = str(tmp_path / "s")
    opinion = Judge(settings, state, lambda: SqliteStore.open(state), {}).ask(question())
    assert plain(opinion) == (True, "there is no key for the judge")
