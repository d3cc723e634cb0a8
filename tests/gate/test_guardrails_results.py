"""What the pattern library's findings in a result come to: what the model reads, labels, words, record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lockgate.core.events import Answer
from lockgate.core.model import Subject

from .guardrails import ASKED, BROKEN, CANARY, GUARD, HELD, KEY, LATE, MARK, MINOR, NOTED
from .world import WORK, World

KEPT = "/home/u/.claude/projects/p/s1/tool-results/b1.txt"


@pytest.fixture
def guarded(world: World) -> Iterator[World]:
    world.guard = GUARD
    yield world


def came_back(world: World, texts: Mapping[str, str], **more: Any) -> Answer:
    _, call = world.ask("Bash", {"command": "cat settings.ini"})
    return world.done(call, "\n".join(texts.values()), texts=tuple(texts.items()), **more)


def sources(world: World) -> list[str]:
    from lockgate.gate import session

    with world.store.reading() as tx:
        return [taint.source for taint in session.provenance(tx, Subject("s1"))]


# ---------------------------------------------------------------- what the model reads
def test_a_secret_is_taken_out_and_the_rest_stays(guarded: World) -> None:
    answer = came_back(guarded, {"stdout": f"before {KEY} after", "stderr": "as it was"})
    assert answer.texts == {"stdout": f"before {MARK} after"}
    assert "1 value (github_pat)" in answer.context
    assert answer.to_person == ""
    assert guarded.labels() == {"secret"}
    assert sources(guarded) == ["secrets_detection/github_pat in the result of Bash: cat settings.ini: stdout"]


def test_one_value_in_many_places_is_one_value(guarded: World) -> None:
    answer = came_back(guarded, {"stdout": f"{KEY} {KEY}", "stderr": f"{KEY} {ASKED}"})
    assert "2 values (github_pat, iban)" in answer.context


def test_a_credential_in_the_name_of_a_field_gives_its_label_and_stays(guarded: World) -> None:
    names = f"rows of {KEY}\nrows of {ASKED}"
    answer = came_back(guarded, {f'table["rows of {KEY}"]': f"a {KEY}"}, names=names)
    assert answer.texts == {f'table["rows of {KEY}"]': f"a {MARK}"}
    assert guarded.labels() == {"secret"}
    for said in (answer.context, answer.to_person):
        assert "github_pat in names of fields" in said
    assert not [text for text in (str(guarded.records()), str(sources(guarded))) if KEY in text]
    answer = came_back(guarded, {"stdout": HELD}, names=names)
    assert answer.withheld
    assert KEY not in answer.withheld + answer.context + answer.to_person


@pytest.mark.parametrize("text", ["harmless", KEY])
def test_names_that_nobody_has_looked_at_are_withheld_with_the_rest(guarded: World, text: str) -> None:
    answer = came_back(guarded, {"stdout": text}, names=f"rows of {LATE}")
    assert "could not be evaluated (time)" in answer.withheld
    assert "could not be evaluated (time)" in guarded.records("outcome")[-1]["guardrail"]["withheld"]


@pytest.mark.parametrize("word", ["nothing", MINOR])
def test_of_what_matters_little_nobody_is_told(guarded: World, word: str) -> None:
    answer = came_back(guarded, {"stdout": word})
    assert answer == Answer()
    assert guarded.labels() == set()


def test_what_is_only_remarked_on_stays_and_is_told(guarded: World) -> None:
    answer = came_back(guarded, {"stdout": f"{NOTED} and {NOTED}"})
    assert (dict(answer.texts), answer.withheld, guarded.labels()) == ({}, "", set())
    for said in (answer.context, answer.to_person):
        assert said == (
            "Lockgate remarks on what this Bash gave back: project_id in stdout [format_validation/project_id]."
        )
    assert NOTED not in str(guarded.records("outcome")[-1])


def test_nobody_is_told_of_what_is_gone(guarded: World) -> None:
    answer = came_back(guarded, {"stdout": f"{NOTED} {HELD}"})
    assert "remarks" not in answer.context + answer.to_person
    answer = came_back(guarded, {"stdout": CANARY})
    assert "remarks" not in answer.context + answer.to_person


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (f"rm {HELD}", "no_executable_code/destructive"),
        (f"{LATE}", "could not be evaluated (time)"),
        (f"{BROKEN}", "lockgate patterns build"),
    ],
)
def test_what_cannot_be_taken_out_is_withheld(guarded: World, text: str, because: str) -> None:
    answer = came_back(guarded, {"stdout": f"{text} and {KEY}", "stderr": "more"})
    assert (answer.texts, answer.context) == ({}, "")
    for said in (answer.withheld, answer.to_person):
        assert "Lockgate withheld" in said
        assert because in said
    assert because in guarded.records("outcome")[-1]["guardrail"]["withheld"]


def test_hooks_that_are_installed_twice_both_take_it_out(guarded: World) -> None:
    _, call = guarded.ask("Bash", {"command": "cat settings.ini"})
    answers = [guarded.done(call, KEY, texts=[("stdout", KEY)]) for _ in range(2)]
    assert answers[0].texts == answers[1].texts == {"stdout": MARK}


def test_a_sub_agent_that_reads_a_secret_holds_it(guarded: World) -> None:
    guarded.agent_starts("a1")
    _, call = guarded.ask("Bash", {"command": "cat x"}, agent="a1")
    guarded.done(call, KEY, agent="a1", texts=[("stdout", KEY)])
    assert guarded.labels("a1") == {"secret"}
    assert guarded.labels() == set()
    guarded.agent_stops("a1")
    assert guarded.labels() == {"secret"}


def test_a_canary_in_a_result_gives_the_label(guarded: World) -> None:
    came_back(guarded, {"stdout": CANARY})
    assert guarded.labels() == {"secret"}


def test_a_profile_that_observes_changes_nothing(guarded: World) -> None:
    (guarded.config / "lockgate.yaml").write_text("profile: observe\n")
    guarded.kept_files[KEPT] = KEY
    for text in (KEY, HELD, LATE, BROKEN, NOTED):
        assert came_back(guarded, {"stdout": text}, kept=KEPT, shown="stdout") == Answer()
    assert guarded.kept_files[KEPT] == KEY
    assert guarded.labels() == {"secret"}
    recorded = [body.get("guardrail", {}) for body in guarded.records("outcome")]
    assert recorded[0]["matches"][0]["rule"] == "secrets_detection/github_pat"
    assert "redacted" not in recorded[0]


def test_the_record_says_what_became_of_it(guarded: World) -> None:
    came_back(guarded, {"stdout": f"{KEY} {KEY}"})
    body = guarded.records("outcome")[-1]
    assert KEY not in str(body)
    assert body["guardrail"]["redacted"] == 2
    assert [match["path"] for match in body["guardrail"]["matches"]] == ["stdout", "stdout"]
    came_back(guarded, {"stdout": "nothing"})
    assert "guardrail" not in guarded.records("outcome")[-1]


# ---------------------------------------------------------------- the file of a long result
def test_the_whole_of_a_long_result_is_rewritten(guarded: World) -> None:
    guarded.kept_files[KEPT] = f"begins like this\n{KEY}\nends"
    answer = came_back(guarded, {"stdout": "begins like th"}, kept=KEPT, shown="stdout")
    assert guarded.kept_files[KEPT] == f"begins like this\n{MARK}\nends"
    assert "1 value" in answer.context
    assert guarded.labels() == {"secret"}


def test_half_a_value_at_the_cut_goes_too(guarded: World) -> None:
    guarded.kept_files[KEPT] = f"x = {KEY}; y"
    answer = came_back(guarded, {"stdout": f"x = {KEY[:5]}"}, kept=KEPT, shown="stdout")
    assert answer.texts == {"stdout": f"x = {MARK}"}


def test_what_cannot_be_taken_out_of_the_file_replaces_it(guarded: World) -> None:
    guarded.kept_files[KEPT] = f"begins {HELD}"
    came_back(guarded, {"stdout": "begins"}, kept=KEPT, shown="stdout")
    assert "Lockgate withheld" in guarded.kept_files[KEPT]
    assert HELD not in guarded.kept_files[KEPT]


def test_a_file_that_cannot_be_evaluated_in_time_is_left_and_named(guarded: World) -> None:
    guarded.kept_files[KEPT] = f"begins {LATE}"
    answer = came_back(guarded, {"stdout": "begins"}, kept=KEPT, shown="stdout")
    assert guarded.kept_files[KEPT] == f"begins {LATE}"
    assert "do not read that file" in answer.context
    assert guarded.labels() == {"secret"}


@pytest.mark.parametrize("broken", [False, True])
def test_a_file_that_cannot_be_rewritten_is_named(guarded: World, broken: bool) -> None:
    if broken:
        guarded.kept_files[KEPT] = BROKEN
    answer = came_back(guarded, {"stdout": "begins"}, kept=KEPT, shown="stdout")
    assert "do not read that file" in answer.context
    assert KEPT in answer.context
    assert KEPT in answer.to_person
    assert guarded.labels() == {"secret"}
    assert guarded.records("outcome")[-1]["guardrail"]["exposed"] == KEPT


# ---------------------------------------------------------------- what cannot be rewritten
def test_the_error_of_a_failed_call_gives_its_label(guarded: World) -> None:
    _, call = guarded.ask("Bash", {"command": "cat x; exit 3"})
    answer = guarded.failed(call, f"Exit code 3\n{KEY}")
    for said in (answer.context, answer.to_person):
        assert "secrets_detection/github_pat" in said
        assert KEY not in said
    assert "Do not repeat it" in answer.context
    assert answer.texts == {}
    assert guarded.labels() == {"secret"}
    assert guarded.records("outcome")[-1]["guardrail"]["matches"][0]["path"] == "error"


def test_an_error_that_cannot_be_looked_at_is_said_to_be_so(guarded: World) -> None:
    _, call = guarded.ask("Bash", {"command": "exit 3"})
    answer = guarded.failed(call, f"Exit code 3\n{BROKEN}")
    assert "lockgate patterns build" in answer.context
    assert "lockgate patterns build" in answer.to_person
    assert guarded.records("outcome")[-1]["guardrail"]["withheld"]


def test_a_message_of_a_machine_gives_its_label(guarded: World) -> None:
    guarded.prompt(f"my key is {KEY}")
    assert guarded.labels() == set()
    answer = guarded.prompt(f"<task-notification>{KEY}", human=False)
    assert guarded.labels() == {"secret"}
    assert sources(guarded) == ["secrets_detection/github_pat in a message prompt"]
    assert answer == Answer()


def test_a_message_that_cannot_be_looked_at_is_taken_as_it_is(guarded: World) -> None:
    assert guarded.prompt(f"<task-notification>{BROKEN}", human=False) == Answer()


def test_a_result_without_text_asks_nobody(world: World) -> None:
    def nobody(*_: object) -> Any:
        raise AssertionError("nothing is there to be looked at")

    world.guard = GUARD._replace(check_output=nobody)
    _, call = world.ask("Read", {"file_path": f"{WORK}/a.png"})
    assert world.done(call, "", texts=()) == Answer()
    assert world.failed(call, "") == Answer()
