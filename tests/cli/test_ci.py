"""``lockgate ci --client NAME`` as a step of a job runs it: what it keeps, what it takes, and where it ends the job."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from lockgate.configuration.layers.files import trust_name
from lockgate.gate.session import jobs
from lockgate.store.sqlite.store import SqliteStore
from support.ci_jobs import OWNER, REPOSITORY, STRANGER, CiJob, commit, issue_event, pull_request_event, push_event

pytestmark = pytest.mark.slow

BOT = {"login": "renovate[bot]", "id": 3, "type": "Bot"}
NONE: Mapping[str, str | None] = MappingProxyType({})
BOTS = 'ci: {bots: ["renovate[bot]"]}\n'


def issue_job(
    folder: Path, files: Mapping[str, str | None] = NONE, event: object = None, name: str = "issues"
) -> CiJob:
    """A job whose checkout is the newest commit of the default branch."""
    sha = commit(folder / "checkout", {"a": "1", **files})
    return CiJob(folder, name, issue_event(OWNER, "OWNER") if event is None else event, sha)


def change_job(folder: Path, base: dict[str, str | None], change: dict[str, str | None], *, fork: bool = True) -> CiJob:
    """A job whose checkout is a change, and whose event is a pull request."""
    sha = commit(folder / "checkout", base)
    changed = commit(folder / "checkout", change)
    return CiJob(folder, "pull_request", pull_request_event(sha, fork=fork), changed)


def set_up(job: CiJob, client: str = "claude-code", *more: str, code: int = 0, **environ: str) -> str:
    done = job.lockgate("ci", "--client", client, *more, **environ)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert code == 0 or "Sessions of this job" not in done.stdout
    return done.stdout if code == 0 else done.stderr


def kept(job: CiJob) -> str | None:
    """What is kept of the job: whose words its prompts can hold; ``None`` where nothing is."""
    store = SqliteStore.open(str(job.home / ".local" / "state" / "lockgate"))
    try:
        with store.reading() as tx:
            found = jobs.job_of(tx, jobs.run_of(job.environ), store.clock())
            return str(found["strangers"]) if found else None
    finally:
        store.close()


@pytest.mark.parametrize(
    ("make", "strangers"),
    [
        pytest.param(lambda folder: issue_job(folder), "", id="the owner's issue"),
        pytest.param(lambda folder: issue_job(folder, event=issue_event(STRANGER, "NONE")), "issue 7 by stranger",
                     id="a stranger's issue"),
        pytest.param(lambda folder: change_job(folder, {"a": "1"}, {"a": "2"}),
                     "a pull request from a fork; pull request 3 by stranger", id="a fork"),
        pytest.param(lambda folder: change_job(folder, {"a": "1"}, {"a": "2"}, fork=False), "", id="the owner's"),
        pytest.param(lambda folder: issue_job(folder, {"lockgate.yaml": BOTS}, issue_event(BOT, "NONE")), "",
                     id="a bot that the base commit names"),
        pytest.param(lambda folder: issue_job(folder, {}, issue_event(BOT, "NONE")), "issue 7 by renovate[bot]",
                     id="a bot that nobody names"),
        pytest.param(lambda folder: issue_job(folder, event={**issue_event(OWNER, "OWNER"),
                                                             "repository": {**REPOSITORY, "full_name": "x/y"}}),
                     "no base", id="an event of another repository"),
    ],
)  # fmt: skip
def test_it_keeps_whose_words_the_prompts_can_hold(
    tmp_path: Path, make: Callable[[Path], CiJob], strangers: str
) -> None:
    job = make(tmp_path)
    if strangers == "no base":
        assert "does not tell which commit is the base" in set_up(job, code=1)
        assert kept(job) is None
        set_up(job, "claude-code", "--base", job.environ["GITHUB_SHA"])
        strangers = "an event of another repository"
    else:
        says = set_up(job)
        assert ("begin clean" in says) is (strangers == "")
        assert strangers in says
    assert kept(job) == strangers


@pytest.mark.parametrize(
    ("name", "event"),
    [
        pytest.param("workflow_run", {"action": "completed"}, id="an event that the table does not have"),
        pytest.param("pull_request", {"pull_request": {}}, id="an event of another shape"),
        pytest.param("pull_request", [], id="no event"),
    ],
)
def test_where_the_event_names_no_base_the_person_does(tmp_path: Path, name: str, event: object) -> None:
    job = issue_job(tmp_path, event=event, name=name)
    assert "name it by --base" in set_up(job, code=1)
    set_up(job, "claude-code", "--base", job.environ["GITHUB_SHA"])
    assert kept(job)
    set_up(job, "claude-code", "--base", "main", code=2)


def test_a_missing_event_file_is_a_strangers(tmp_path: Path) -> None:
    job = issue_job(tmp_path)
    set_up(job, "claude-code", "--base", job.environ["GITHUB_SHA"], GITHUB_EVENT_PATH=str(tmp_path / "none"))
    assert kept(job) == "an event file that holds no event"


def test_doing_it_again_with_another_event_only_tightens(tmp_path: Path) -> None:
    """A step that runs code of the change could write an event file of its own."""
    job = issue_job(tmp_path, event=issue_event(STRANGER, "NONE"))
    set_up(job)
    job.event_file.write_text(json.dumps(issue_event(OWNER, "OWNER")))
    assert "begin untrusted" in set_up(job)
    assert kept(job) == "issue 7 by stranger"


def trusted(job: CiJob, name: str) -> bool:
    store = SqliteStore.open(str(job.home / ".local" / "state" / "lockgate"))
    try:
        with store.reading() as tx:
            return tx.setting(trust_name(str(job.checkout / name))) is not None
    finally:
        store.close()


LOOSE = "profile: quarantine\ntable: {push: {untrusted: allow}}\n"


def test_configuration_is_the_base_commits_and_trusted(tmp_path: Path) -> None:
    job = change_job(tmp_path, {"lockgate.yaml": "profile: quarantine\n", "CLAUDE.md": "base"},
                     {"lockgate.yaml": BOTS, ".lockgate.yaml": BOTS, "CLAUDE.md": "evil"})  # fmt: skip
    says = set_up(job)
    assert "taken from the base commit: CLAUDE.md" in says
    assert "removed, since the base commit has it not: .lockgate.yaml" in says
    assert (job.checkout / "lockgate.yaml").read_text() == "profile: quarantine\n"
    assert trusted(job, "lockgate.yaml")
    assert not trusted(job, ".lockgate.yaml")


def test_a_change_cannot_name_its_bot(tmp_path: Path) -> None:
    before = commit(tmp_path / "checkout", {"a": "1"})
    after = commit(tmp_path / "checkout", {"lockgate.yaml": BOTS})
    event = push_event(before, after, author="renovate[bot]")
    job = CiJob(tmp_path, "push", {**event, "sender": BOT, "pusher": {"name": "renovate[bot]"}}, after)
    set_up(job)
    assert kept(job) == "an event that renovate[bot] caused"
    assert not (job.checkout / "lockgate.yaml").exists()


def _without_git(job: CiJob) -> None:
    (job.checkout / ".git").rename(job.checkout / "git")


def _without_codex(job: CiJob) -> None:
    (job.home.parent / "bin" / "codex").unlink()


def _untrusting_codex(job: CiJob) -> None:
    codex = job.home.parent / "bin" / "codex"
    codex.write_text(codex.read_text().replace('"trusted" if trusted else', ""))


def _no_gemini_hooks(job: CiJob) -> None:
    file = job.home / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"hooksConfig": {"enabled": false}}')


def _nothing(job: CiJob) -> None:
    pass


@pytest.mark.parametrize(
    ("client", "files", "environ", "before", "says"),
    [
        pytest.param("claude-code", {}, {"GITHUB_RUN_ID": ""}, _nothing, "no job of GitHub Actions", id="no job"),
        pytest.param("claude-code", {}, {"CLAUDECODE": "1"}, _nothing, "only a person may", id="an agent asks"),
        pytest.param("claude-code", {}, {}, _without_git, "this folder is no checkout", id="no checkout"),
        pytest.param("claude-code", {"lockgate.yaml": "profile: [x"}, {}, _nothing, "not valid", id="no configuration"),
        pytest.param("claude-code", {"lockgate.yaml": "ci: {bots: [me]}"}, {}, _nothing, "log-in of a bot",
                     id="no bot"),
        pytest.param("claude-code", {".claude/settings.json": '{"disableAllHooks": true}'}, {}, _nothing,
                     "disableAllHooks", id="the base commit switches hooks off"),
        pytest.param("codex", {}, {}, _without_codex, "codex is not in PATH", id="no Codex to trust hooks"),
        pytest.param("codex", {}, {}, _untrusting_codex, "they are not trusted", id="a Codex that does not trust"),
        pytest.param("gemini-cli", {}, {}, _no_gemini_hooks, "switches the gate off", id="Gemini's hooks are off"),
    ],
)  # fmt: skip
def test_the_job_ends_where_the_agent_would_not_be_guarded(
    tmp_path: Path, client: str, files: dict[str, str | None], environ: dict[str, str],
    before: Callable[[CiJob], None], says: str,
) -> None:  # fmt: skip
    job = issue_job(tmp_path, files)
    before(job)
    assert says in set_up(job, client, code=1, **environ)


def test_it_says_which_client_it_needs(tmp_path: Path) -> None:
    done: subprocess.CompletedProcess[str] = issue_job(tmp_path).lockgate("ci")
    assert done.returncode == 2
    assert "say which client" in done.stderr


def test_the_record_tells_the_facts(tmp_path: Path) -> None:
    job = change_job(tmp_path, {"CLAUDE.md": "base"}, {"CLAUDE.md": "evil"})
    set_up(job)
    lines = job.lockgate("audit", "show", "--json").stdout
    records: Any = [json.loads(line) for line in lines.splitlines()] if lines.startswith("{") else json.loads(lines)
    (record,) = [one for one in records if "ci_job" in json.dumps(one)]
    text = json.dumps(record)
    for fact in ("pull_request", "owner/tool", "CLAUDE.md", "pull request 3 by stranger"):
        assert fact in text
