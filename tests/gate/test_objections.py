"""What rule sets and plugins have against a call or a result, joined with everything else by the strictest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gate.world import World
from lockgate.configuration.load import Configuration
from lockgate.core.model import Verdict
from lockgate.core.questions import Objection, PluginEntry, ResultQuestion, RuleSets, RulesQuestion
from lockgate.gate import Consultants, Monitor

SETS = RuleSets(plugins=(PluginEntry("policy"),))
ASKS = Objection("plugin:policy", "is it \x1b[31mFriday?", Verdict.ASK)
DENIES = Objection("plugin:policy", "not today")


class Bench(World):
    """A machine whose rules and plugins are said by the test."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.before: Sequence[Objection] = ()
        self.after: Sequence[Objection] = ()
        self.sets = SETS
        self.asked: list[RulesQuestion | ResultQuestion] = []
        consultants = Consultants(
            has_rules=lambda _: True, rule_sets=self._sets, rules=self._rules, results=self._results
        )
        self.gate = Monitor(self.gate.parts._replace(consultants=consultants))

    def _sets(self, _: Configuration) -> RuleSets:
        return self.sets

    def _rules(self, question: RulesQuestion) -> Sequence[Objection]:
        self.asked.append(question)
        return self.before

    def _results(self, question: ResultQuestion) -> Sequence[Objection]:
        self.asked.append(question)
        return self.after


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.start()
    return made


def test_an_objection_decides_where_nothing_else_is_stricter(bench: Bench) -> None:
    bench.before = [DENIES]
    answer, _ = bench.ask("Bash", {"command": "ls"})
    assert answer.verdict is Verdict.DENY
    assert "not today [plugin:policy]" in answer.to_agent
    assert "delegate" not in answer.to_agent  # who would be refused as well
    (decision,) = bench.records("decision")
    assert (decision["verdict"], decision["cascade"]["tier"]) == ("deny", "rules")
    assert decision["reasons"] == [{"rule": "plugin:policy", "row": "rules", "because": "not today"}]


def test_an_objection_that_asks_does_not_soften_a_denial(bench: Bench) -> None:
    bench.before = [ASKS]
    answer, _ = bench.ask("Bash", {"command": "ls"})
    assert answer.verdict is Verdict.ASK
    assert "\x1b" not in answer.to_person
    bench.taint()
    answer, _ = bench.ask("Bash", {"command": "git push"})
    assert answer.verdict is Verdict.DENY
    assert "Friday" not in answer.to_agent


def test_nobody_says_allow(bench: Bench) -> None:
    bench.before = [Objection("plugin:policy", "fine", Verdict.ALLOW)]
    assert bench.bash("ls") is Verdict.ASK  # whoever objects has objected


def test_a_question_holds_the_call_as_it_was_made_and_what_runs(bench: Bench) -> None:
    bench.ask("Bash", {"command": "true && git push -f"})
    (asked,) = bench.asked
    assert isinstance(asked, RulesQuestion)
    assert (asked.call.tool_input, asked.sets) == ({"command": "true && git push -f"}, SETS)
    assert [command.words for command in asked.analysis.commands] == [("true",), ("git", "push", "-f")]


def test_the_profile_that_observes_records_and_lets_run(bench: Bench) -> None:
    (bench.config / "lockgate.yaml").write_text("profile: observe\n")
    bench.before, bench.after = [DENIES], [DENIES]
    answer, call = bench.ask("Bash", {"command": "ls"})
    assert answer.verdict is Verdict.ALLOW
    assert bench.records("decision")[-1]["would_have"]["verdict"] == "deny"
    assert bench.done(call, "text").withheld == ""


def test_a_result_is_withheld_with_the_reason(bench: Bench) -> None:
    bench.after = [ASKS]
    _, call = bench.ask("Bash", {"command": "ls"})
    answer = bench.done(call, "what it printed")
    assert answer.withheld == "Lockgate withheld this output: is it \\e[31mFriday? [plugin:policy]."
    assert "withheld the output of Bash" in answer.to_person
    asked = bench.asked[-1]
    assert isinstance(asked, ResultQuestion)
    assert (asked.text, asked.call) == ("what it printed", call)
    assert "plugin:policy" in bench.records("outcome")[-1]["guardrail"]["withheld"]


def test_a_result_gives_its_labels_though_it_was_withheld(bench: Bench) -> None:
    bench.after = [DENIES]
    bench.taint()
    assert bench.labels() == {"untrusted"}


def test_without_plugins_no_result_is_asked_about(bench: Bench) -> None:
    bench.sets, bench.after = RuleSets(), [DENIES]
    _, call = bench.ask("Bash", {"command": "ls"})
    bench.asked.clear()
    assert bench.done(call, "x").withheld == ""
    assert bench.asked == []
