"""Declared outputs: an agent plans without a token, and a second job does what the base commit declares."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.ci_jobs import STRANGER, CiJob, commit, issue_event
from support.service_api import StandInApi, standing_in

pytestmark = pytest.mark.slow

DECLARED = "ci: {outputs: {comment: {max: 1}, labels: {from: [bug, docs]}, review: {}}}\n"
COMMENT = {"kind": "comment", "body": "It is in the docs."}
PLAN = {"version": 1, "run": "1234", "repository": "owner/tool", "number": 7, "outputs": [COMMENT]}
TOKEN = "q8Zr2LmX7vTn4KsWb9Yd3HcF6pGj"
KEY = "AKIA" + "QYLPMN5HFIQR7XYA"


@pytest.fixture
def api() -> Iterator[StandInApi]:
    with standing_in() as found:
        yield found


class TwoJobs:
    """The job of an agent, and the one that carries its plan out."""

    def __init__(self, folder: Path, api: StandInApi, declares: str = DECLARED) -> None:
        sha = commit(folder / "checkout", {"a": "1", "lockgate.yaml": declares})
        self.job = CiJob(folder, "issues", issue_event(STRANGER, "NONE"), sha)
        self.job.environ |= {"GITHUB_API_URL": api.address, "GH_TOKEN": TOKEN}
        self.plan = self.job.checkout / "lockgate-plan.json"

    def output(self, *words: str, body: str = "It is in the docs.", code: int = 0) -> str:
        (self.job.checkout / "answer.md").write_text(body)
        return _said(self.job.lockgate("ci", "output", *words, CLAUDECODE="1", GH_TOKEN=""), code)

    def apply(self, *words: str, code: int = 0, **environ: str) -> str:
        return _said(self.job.lockgate("ci", "apply", *words, **environ), code)


def _said(done: subprocess.CompletedProcess[str], code: int) -> str:
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_what_is_planned_in_one_job_is_done_in_another(tmp_path: Path, api: StandInApi) -> None:
    jobs = TwoJobs(tmp_path, api)
    jobs.output("comment", "--body-file", "answer.md", body="See @owner ![x](https://evil.example/?d=1)")
    jobs.output("labels", "bug", "docs")
    jobs.output("review", "--event", "request-changes", "--body-file", "answer.md")
    assert api.asked == []
    assert "would post to /repos/owner/tool/issues/7/comments" in jobs.apply("--dry-run")
    assert api.asked == []
    jobs.apply()
    assert [(one.method, one.path, one.body) for one in api.asked] == [
        ("POST", "/api/v3/repos/owner/tool/issues/7/comments", {"body": "See &#64;&#8203;owner x"}),
        ("POST", "/api/v3/repos/owner/tool/issues/7/labels", {"labels": ["bug", "docs"]}),
        (
            "POST",
            "/api/v3/repos/owner/tool/pulls/7/reviews",
            {"event": "REQUEST_CHANGES", "body": "It is in the docs&#46;"},
        ),
    ]
    assert {one.token for one in api.asked} == {f"Bearer {TOKEN}"}


_CLIENT = "import json, subprocess, sys; sys.exit(subprocess.run(sys.argv[2:], env=json.loads(sys.argv[1])).returncode)"
"""A client that gives its commands an environment of its own."""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell of a process's environment")
def test_a_client_that_takes_the_variables_from_its_commands_plans_all_the_same(
    tmp_path: Path, api: StandInApi
) -> None:
    """Gemini CLI does so in GitHub Actions."""
    jobs = TwoJobs(tmp_path, api)
    started_with = {**jobs.job.environ, "GITHUB_WORKSPACE": str(jobs.job.checkout)}
    given = {name: value for name, value in started_with.items() if not name.startswith("GITHUB_")}
    command = [sys.executable, "-m", "lockgate", "ci", "output", "labels", "bug"]
    words = [sys.executable, "-c", _CLIENT, json.dumps(given), *command]
    done = subprocess.run(words, cwd=tmp_path, env=started_with, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(jobs.plan.read_text())["outputs"] == [{"kind": "labels", "names": ["bug"]}]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param(["labels", "urgent"], "the label 'urgent' is not declared", id="a label"),
        pytest.param(["review", "--event", "approve", "--body-file", "answer.md"], "an approval", id="an approval"),
        pytest.param(["comment", "--body-file", "none.md"], "cannot be read", id="no text"),
    ],
)
def test_an_agent_is_told_at_once_what_is_not_declared(
    tmp_path: Path, api: StandInApi, words: list[str], says: str
) -> None:
    jobs = TwoJobs(tmp_path, api)
    assert says in jobs.output(*words, code=1)
    assert not jobs.plan.exists()


def test_a_second_comment_is_not_planned(tmp_path: Path, api: StandInApi) -> None:
    jobs = TwoJobs(tmp_path, api)
    jobs.output("comment", "--body-file", "answer.md")
    before = jobs.plan.read_bytes()
    assert "2 comment(s), and 1 may be made" in jobs.output("comment", "--body-file", "answer.md", code=1)
    assert jobs.plan.read_bytes() == before


def _plan(**changes: Any) -> Callable[[Path], None]:
    return lambda path: path.write_text(json.dumps({**PLAN, **changes})) and None


def _outputs(*outputs: dict[str, Any]) -> Callable[[Path], None]:
    return _plan(outputs=list(outputs))


def _text(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text) and None


def _linked(path: Path) -> None:
    (path.parent / "real.json").write_text(json.dumps(PLAN))
    path.symlink_to("real.json")


LABELS = {"kind": "labels", "names": ["bug"]}
HOSTILE = [
    pytest.param(_plan(number=8), "another run, repository, issue", id="another issue"),
    pytest.param(_plan(repository="owner/other"), "another run, repository, issue", id="another repository"),
    pytest.param(_plan(run="1233"), "another run, repository, issue", id="a plan of another run"),
    pytest.param(_outputs(COMMENT, COMMENT), "2 comment(s), and 1 may be made", id="too many"),
    pytest.param(_outputs(*[LABELS] * 21), "shape", id="far too many"),
    pytest.param(_outputs(COMMENT, {"kind": "labels", "names": ["urgent"]}), "'urgent' is not declared", id="a label"),
    pytest.param(_outputs({"kind": "labels", "names": ["Bug"]}), "'Bug' is not declared", id="a label's other case"),
    pytest.param(_outputs({"kind": "labels", "names": ["b\u0443g"]}), "is not declared", id="a label's look-alike"),
    pytest.param(_outputs({"kind": "review", "event": "APPROVE", "body": "x"}), "an approval", id="an approval"),
    pytest.param(_outputs({"kind": "merge"}), "shape", id="another act"),
    pytest.param(_outputs({**COMMENT, "number": 8}), "shape", id="a target of its own"),
    pytest.param(_outputs({**COMMENT, "body": "x" * 16001}), "shape", id="a long text"),
    pytest.param(_outputs({**COMMENT, "body": "." * 16000}), "longer than 65536", id="a text that grows"),
    pytest.param(_outputs({**COMMENT, "body": "[](https://evil.example/)"}), "is empty", id="a text of nothing"),
    pytest.param(_outputs({**COMMENT, "body": f"key {KEY}"}), "holds a secret", id="a secret"),
    pytest.param(_outputs({**COMMENT, "body": f"it is {TOKEN}"}), "holds a secret", id="the job's token"),
    pytest.param(_outputs({**COMMENT, "body": TOKEN.encode().hex()}), "holds a secret", id="the token in another form"),
    pytest.param(_outputs({**COMMENT, "body": "\ud800"}), "no JSON", id="half a character"),
    pytest.param(_plan(version=2), "shape", id="another version"),
    pytest.param(_plan(outputs=[]), "shape", id="nothing"),
    pytest.param(_text("[" * 200_000), "no JSON", id="deep"),
    pytest.param(_text(json.dumps(PLAN)[:-1] + ', "x": NaN}'), "no JSON", id="no number"),
    pytest.param(_text(" " * 2_000_000), "larger than", id="huge"),
    pytest.param(_linked, "cannot be read", id="a link"),
    pytest.param(lambda path: os.mkfifo(path), "cannot be read", id="a pipe"),
    pytest.param(lambda path: path.mkdir(), "cannot be read", id="a folder"),
    pytest.param(lambda path: None, "cannot be read", id="no plan"),
]


@pytest.mark.parametrize(("write", "says"), HOSTILE)
def test_a_hostile_plan_does_nothing(tmp_path: Path, api: StandInApi, write: Callable[[Path], None], says: str) -> None:
    jobs = TwoJobs(tmp_path, api)
    write(jobs.plan)
    assert says in jobs.apply(code=1)
    assert api.asked == []


def test_a_canary_is_not_posted(tmp_path: Path, api: StandInApi) -> None:
    jobs = TwoJobs(tmp_path, api)
    bait = jobs.job.lockgate("canary", "new").stdout.strip()
    assert bait
    _outputs({**COMMENT, "body": f"it is {bait}"})(jobs.plan)
    assert "holds a secret" in jobs.apply(code=1)
    assert api.asked == []


def test_the_untouched_plan_is_carried_out(tmp_path: Path, api: StandInApi) -> None:
    """What makes the table above mean something."""
    jobs = TwoJobs(tmp_path, api)
    _plan()(jobs.plan)
    jobs.apply()
    assert len(api.asked) == 1


@pytest.mark.parametrize("declares", ["{}\n", "ci: {bots: []}\n", "ci: {outputs: {labels: {from: [bug]}}}\n"])
def test_what_is_not_declared_is_not_done(tmp_path: Path, api: StandInApi, declares: str) -> None:
    jobs = TwoJobs(tmp_path, api, declares)
    _plan()(jobs.plan)
    assert "1 comment(s), and 0 may be made" in jobs.apply(code=1)
    assert api.asked == []


def test_the_declaration_is_the_base_commits(tmp_path: Path, api: StandInApi) -> None:
    jobs = TwoJobs(tmp_path, api, "{}\n")
    (jobs.job.checkout / "lockgate.yaml").write_text(DECLARED)
    _plan()(jobs.plan)
    assert "0 may be made" in jobs.apply(code=1)
    commit(jobs.job.checkout, {"lockgate.yaml": DECLARED})
    assert "0 may be made" in jobs.apply(code=1)
    assert api.asked == []


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        pytest.param(302, {"Location": "/elsewhere"}, b"{}", id="a redirect"),
        pytest.param(307, {"Location": "/elsewhere"}, b"{}", id="a redirect that keeps the body"),
        pytest.param(403, {}, b"{}", id="forbidden"),
        pytest.param(429, {"Retry-After": "1"}, b"::error::x", id="too many requests"),
        pytest.param(202, {}, b"x" * 5_000_000, id="a huge answer of another kind"),
    ],
)
def test_a_service_that_does_not_do_it_ends_the_job(
    tmp_path: Path, api: StandInApi, status: int, headers: dict[str, str], body: bytes
) -> None:
    """Nothing more is asked afterwards, and the token goes nowhere else."""
    jobs = TwoJobs(tmp_path, api)
    _outputs(COMMENT, LABELS)(jobs.plan)
    api.status, api.headers, api.body = status, headers, body
    assert f"it answers {status}" in jobs.apply(code=1)
    assert [one.path for one in api.asked] == ["/api/v3/repos/owner/tool/issues/7/comments"]


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({"GITHUB_API_URL": "http://service.example/"}, id="no encryption"),
        pytest.param({"GITHUB_API_URL": "https://a:b@service.example/"}, id="a name in the address"),
        pytest.param({"GITHUB_API_URL": ""}, id="no address"),
        pytest.param({"GH_TOKEN": ""}, id="no token"),
        pytest.param({"GH_TOKEN": "x\r\nHost: evil.example"}, id="a token of two lines"),
        pytest.param({"GITHUB_RUN_ID": ""}, id="no run"),
        pytest.param({"CLAUDECODE": "1"}, id="an agent's shell"),
    ],
)
def test_it_ends_where_the_job_is_not_as_it_must_be(tmp_path: Path, api: StandInApi, environ: dict[str, str]) -> None:
    jobs = TwoJobs(tmp_path, api)
    _plan()(jobs.plan)
    jobs.apply(code=1, **environ)
    assert api.asked == []
