"""Packages that a session with untrusted text has installed: their code runs contained in every other session, too."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from containment.machine import Machine
from installs.index import LocalIndex
from installs.test_contained import COMMIT, Session
from lockgate.core.events import Answer, Context, SessionStarted, ToolFinished, ToolRequested
from lockgate.core.model import Label, Subject, Taint, ToolCall, Verdict
from lockgate.gate.approvals.endorsing import endorse_packages
from lockgate.gate.contradictions import accept_contradictions, contradictions
from lockgate.gate.session import packages

TESTS = "npm test"
PLANTS = "require('fs').writeFileSync(process.env.HOME + '/planted', '')"


class Later:
    """A session that has read nothing, in the project of one that has."""

    def __init__(self, session: Session, name: str = "clean") -> None:
        self.session, self.machine = session, session.machine
        self._name, self._ids = name, itertools.count(1)
        context = self._context(self.machine.project)
        session._as_client(lambda: session._gate.handle(SessionStarted(context, "startup", ())))

    def _context(self, folder: Path) -> Context:
        return Context("claude", Subject(self._name), str(folder), str(folder))

    def ask(self, command: str, folder: Path | None = None) -> Answer:
        """What the gate says to a command."""
        folder = folder or self.machine.project
        call = ToolCall("Bash", {"command": command}, str(folder), f"{self._name}-{next(self._ids)}")
        context = self._context(folder)
        return self.session._as_client(lambda: self.session._gate.handle(ToolRequested(context, call)))

    def verdict(self, command: str = TESTS) -> Verdict:
        """The same, in a word."""
        return self.ask(command).verdict

    def runs(self, command: str) -> str:
        """Ask for a command, run it as the gate has it run, and tell that it has ended."""
        answer = self.ask(command)
        assert answer.verdict in (Verdict.ALLOW, Verdict.CONTAIN), answer
        text = command if answer.new_input is None else str(answer.new_input["command"])
        done = self.session.run_text(text)
        made = ToolCall("Bash", {"command": text}, str(self.machine.project), f"{self._name}-{next(self._ids)}")
        ended = ToolFinished(self._context(self.machine.project), made, done.stdout, done.stdout)
        self.session._as_client(lambda: self.session._gate.handle(ended))
        return done.stdout

    def commit(self) -> None:
        """Commit as a person does, outside of all sessions."""
        self.machine.outside(f"date +%N > notes; {COMMIT}")


class Labelled(Later):
    """The session that has read untrusted text."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "s")


@pytest.fixture
def session(tmp_path: Path, index: LocalIndex) -> Iterator[Session]:
    found = Session(Machine(tmp_path, "namespaces"), index)
    yield found
    found.end()


def _standing(session: Session) -> list[packages.InstalledPackages]:
    with session._parts.store.reading() as tx:
        return packages.list_standing(tx)


def test_their_code_runs_contained_in_a_session_that_has_read_nothing(session: Session) -> None:
    later = Later(session)
    assert later.verdict() is Verdict.ALLOW
    Labelled(session).runs("npm ci")
    # What a package does once it is used, as an attacker has it do.
    (session.machine.project / "node_modules/odd/index.js").write_text(PLANTS)
    said = later.ask("node -e \"require('odd')\"")
    assert said.verdict is Verdict.CONTAIN
    assert "lockgate endorse --packages" in said.context
    later.runs("node -e \"require('odd')\"")
    assert not (session.machine.home / "planted").exists()
    session.machine.outside("node -e \"require('odd')\"")
    assert (session.machine.home / "planted").exists()  # it would have


AFTER: dict[str, tuple[str, Verdict]] = {
    "a script of the manifest": ("npm test", Verdict.CONTAIN),
    "a runtime": ("node app.js", Verdict.CONTAIN),
    "a program of the folder": ("node_modules/.bin/tool", Verdict.CONTAIN),
    "a tool by npx": ("npx --no tool", Verdict.CONTAIN),
    "a rule of make": ("make", Verdict.CONTAIN),
    "tests of Python": ("python3 -m pytest -q", Verdict.CONTAIN),
    "text that cannot be read": ("eval \"$WORD\"", Verdict.CONTAIN),
    "behind a pipe": ("npm test | tail -5", Verdict.CONTAIN),
    "from above": ("cd .. && node project/app.js", Verdict.CONTAIN),
    "from elsewhere, by its path": ("cd /usr && node {project}/app.js", Verdict.CONTAIN),
    "from elsewhere, by an option": ("cd /usr && npm --prefix={project} test", Verdict.CONTAIN),
    "an install of what is committed": ("npm ci", Verdict.CONTAIN),
    "what only looks": ("ls -la && git status && cat package.json", Verdict.ALLOW),
    "what only sends": ("git push", Verdict.ALLOW),
    "a service of the machine": ("docker compose up -d", Verdict.ALLOW),
    "code elsewhere": ("cd /usr && node /usr/share/x.js", Verdict.ALLOW),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session that has installed packages."""
    folder = tmp_path_factory.mktemp("installed")
    index = LocalIndex(folder)
    session = Session(Machine(folder, "namespaces"), index)
    assert session.ask("npm ci").verdict is Verdict.CONTAIN
    yield session
    session.end()
    index.end()


@pytest.fixture
def installed(project: Session, request: pytest.FixtureRequest) -> Later:
    """A session that has read nothing, after that."""
    return Later(project, request.node.name)


@pytest.mark.parametrize("name", AFTER)
def test_which_commands_may_run_them(installed: Later, name: str) -> None:
    command, verdict = AFTER[name]
    assert installed.verdict(command.format(project=installed.machine.project)) is verdict


@pytest.mark.parametrize("command", ["npm test && curl -s https://e.example/", "npm i left-pad", "sudo npm test"])
def test_what_needs_more_than_a_sandbox_has_is_asked(installed: Later, command: str) -> None:
    assert installed.verdict(command) is Verdict.ASK


def test_another_project_is_as_before(installed: Later) -> None:
    other = installed.machine.home / "other"
    other.mkdir(exist_ok=True)
    assert installed.ask("npm test", other).verdict is Verdict.ALLOW
    assert installed.ask('eval "$WORD"', other).verdict is Verdict.ALLOW


def test_a_session_with_the_label_has_it_as_before(installed: Later) -> None:
    with installed.session._parts.store.transaction() as tx:
        tx.add_taints(Subject("read"), [Taint(Label.UNTRUSTED, "a page", "WebFetch", "c", 1.0)])
    answer = Later(installed.session, "read").ask(TESTS)
    assert answer.verdict is Verdict.CONTAIN
    assert "lockgate endorse" not in answer.context


def test_an_install_of_the_same_in_a_clean_session_works_and_ends_nothing(session: Session) -> None:
    Labelled(session).runs("npm ci")
    later = Later(session)
    later.runs("npm ci")
    assert (session.machine.project / "node_modules/odd/installed.txt").read_text() == "installed\n"
    assert later.verdict() is Verdict.CONTAIN


# ---------------------------------------------------------------- how it ends
def test_a_person_endorses_them(session: Session) -> None:
    Labelled(session).runs("npm ci")
    (kept,) = _standing(session)
    assert kept.folder == str(session.machine.project)
    endorse_packages(session._parts.store, kept, by="ann (terminal)")
    assert Later(session).verdict() is Verdict.ALLOW


def test_a_commit_of_a_persons_ends_it(session: Session) -> None:
    Labelled(session).runs("npm ci")
    later = Later(session)
    assert later.verdict() is Verdict.CONTAIN
    later.commit()
    assert later.verdict() is Verdict.ALLOW
    with session._parts.store.reading() as tx:
        told = [json.loads(row.body) for row in tx.audit()]
    assert [body["event"] for body in told if body["event"].startswith("packages")] == [
        packages.INSTALLED,
        packages.ENDED,
    ]


def _by_the_agent(labelled: Labelled, later: Later) -> None:
    labelled.runs(f"date +%N > notes; {COMMIT}")


def _by_the_agent_unheard(labelled: Labelled, later: Later) -> None:
    assert labelled.verdict(COMMIT) in (Verdict.ALLOW, Verdict.CONTAIN)
    later.commit()  # its call never comes back


def _of_another_lock_file(labelled: Labelled, later: Later) -> None:
    later.machine.outside("echo >> package-lock.json")
    later.commit()


def _of_nothing(labelled: Labelled, later: Later) -> None:
    later.machine.outside("echo >> package-lock.json")


@pytest.mark.parametrize("commits", [_by_the_agent, _by_the_agent_unheard, _of_another_lock_file, _of_nothing])
def test_another_commit_does_not(session: Session, commits: Callable[[Labelled, Later], None]) -> None:
    labelled = Labelled(session)
    labelled.runs("npm ci")
    later = Later(session)
    commits(labelled, later)
    assert later.verdict() is Verdict.CONTAIN
    assert later.verdict() is Verdict.CONTAIN


def test_no_commit_ends_what_no_file_names_by_digests(session: Session) -> None:
    Labelled(session).runs(".venv/bin/python -m pip install -r open.txt")
    later = Later(session)
    later.commit()
    assert later.verdict("make") is Verdict.CONTAIN


def test_what_an_earlier_install_has_left_is_not_named_by_a_later_one(session: Session) -> None:
    labelled = Labelled(session)
    labelled.runs(".venv/bin/python -m pip install -r open.txt")
    labelled.runs(".venv/bin/python -m pip install --no-deps -r requirements.txt")
    later = Later(session)
    later.commit()
    assert later.verdict("make") is Verdict.CONTAIN


def test_what_was_kept_and_changed_by_somebody_else_counts(session: Session) -> None:
    Labelled(session).runs("npm ci")
    with session._parts.store.transaction() as tx:
        (name,) = tx.settings("packages:")
        kept = json.loads(tx.setting(name) or "")
        tx.put_setting(name, json.dumps({**kept, "head": "0" * 40}))
    later = Later(session)
    later.commit()
    assert later.verdict() is Verdict.CONTAIN


def test_what_the_state_has_lost_contradicts_the_audit(session: Session) -> None:
    Labelled(session).runs("npm ci")
    with session._parts.store.transaction() as tx:
        assert contradictions(tx, None) == []
        (name,) = tx.settings("packages:")
        tx.put_setting(name, None)
    assert Later(session).verdict() is Verdict.ALLOW
    with session._parts.store.transaction() as tx:
        (found,) = contradictions(tx, None)
        assert str(session.machine.project) in found.text
        accept_contradictions(tx, [found], by="ann (terminal)", now=9.0)
        assert contradictions(tx, None) == []
    assert Later(session).verdict() is Verdict.CONTAIN


def test_what_was_endorsed_is_no_contradiction(session: Session) -> None:
    Labelled(session).runs("npm ci")
    endorse_packages(session._parts.store, _standing(session)[0], by="ann (terminal)")
    with session._parts.store.reading() as tx:
        assert contradictions(tx, None) == []
