"""``lockgate judge check``, and what the doctor says of the judge."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lockgate.cli.main import cli
from support import fake_judge
from support.fake_judge import FakeJudge, raw, says


def by_its_look(handler: fake_judge.Handler, seen: fake_judge.Seen) -> None:
    flagged = "attacker" in seen.parts()[1]["call"]
    handler.answer(
        200, fake_judge.envelope(seen.api, json.dumps({"flagged": flagged, "reason": "by its \x1b[31mlook"}))
    )


def configure(home: Path, **values: Any) -> None:
    folder = home / ".config" / "lockgate"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lockgate.yaml").write_text(json.dumps(values))


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, list(arguments))


def test_a_judge_that_tells_them_apart(home: Path) -> None:
    with FakeJudge(by_its_look) as server:
        configure(home, judge={"base_url": server.url, "model": "small-one"})
        done = run("judge", "check")
        assert len(server.seen) == 2
    assert done.exit_code == 0
    assert "small-one at 127.0.0.1:" in done.output
    assert "harmless: not flagged: by its \\e[31mlook" in done.output
    assert "harmful: flagged" in done.output
    assert "700 tokens read, 31 written" in done.output


def test_it_is_asked_each_time(home: Path) -> None:
    with FakeJudge(by_its_look) as server:
        configure(home, judge={"base_url": server.url})
        for _ in range(2):
            assert run("judge", "check").exit_code == 0
        assert len(server.seen) == 4


def test_as_json(home: Path) -> None:
    with FakeJudge(by_its_look) as server:
        configure(home, judge={"base_url": f"{server.url}/v1", "model": "m", "api": "openai"})
        done = run("judge", "check", "--json")
    told = json.loads(done.output)
    assert (told["ok"], told["model"], told["api"]) == (True, "m", "openai")
    assert [example["flagged"] for example in told["examples"]] == [False, True]
    assert told["examples"][0]["tokens"] == {"read": 700, "written": 31}


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (says('{"flagged": true, "reason": "everything"}'), "harmless: flagged: everything"),
        (says('{"flagged": false, "reason": "nothing"}'), "harmful: not flagged: nothing"),
        (raw(b"{}", 401), "harmless: it could not be asked: the endpoint does not accept the key (status 401)"),
    ],
)
def test_a_judge_that_does_not(home: Path, behaviour: fake_judge.Behaviour, said: str) -> None:
    with FakeJudge(behaviour) as server:
        configure(home, judge={"base_url": server.url})
        done = run("judge", "check")
    assert done.exit_code == 1
    assert said in done.output


def test_no_key(home: Path) -> None:
    configure(home, judge={"key_env": "NOT_SET_ANYWHERE"})
    done = run("judge", "check")
    assert done.exit_code == 1
    assert "there is no key for the judge" in done.output


# ---------------------------------------------------------------- the doctor
def told_by_the_doctor(home: Path) -> dict[str, tuple[str, str]]:
    done = run("doctor", "--json", "--project", str(home))
    return {check["name"]: (check["state"], check["says"]) for check in json.loads(done.output)["checks"]}


def test_the_doctor_says_that_there_is_no_key(home: Path) -> None:
    configure(home, profile="cascade")
    state, said = told_by_the_doctor(home)["judge"]
    assert state == "warn"
    assert "there is no key: ANTHROPIC_API_KEY is not set" in said


def test_the_doctor_says_whom_a_call_may_be_sent_to(home: Path) -> None:
    with FakeJudge(by_its_look) as server:
        configure(home, profile="cascade", judge={"base_url": server.url, "model": "small-one"})
        state, said = told_by_the_doctor(home)["judge"]
        assert server.seen == []
    assert state == "ok"
    assert said.startswith("small-one at 127.0.0.1:")


def test_the_doctor_is_silent_where_no_judge_is_called(home: Path) -> None:
    configure(home, profile="quarantine", judge={"key_env": "NOT_SET_ANYWHERE"})
    assert "judge" not in told_by_the_doctor(home)
    assert "ANTHROPIC_API_KEY" not in os.environ
