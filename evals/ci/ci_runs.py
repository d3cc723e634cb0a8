"""A job with a real client: its machine, its checkout, its event, and what has left it."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import secrets
import shutil
import sys
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from ci_runner import Job
from ci_service import Api, serving

from e2e.harness.clients import claude_code, versions
from e2e.harness.other_models import ChatModel, GeminiModel, ResponsesModel
from e2e.harness.other_worlds import CodexWorld, CopilotWorld, GeminiWorld, OpenCodeWorld
from e2e.harness.script import Call, Script, bash, read, write
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import World
from support.ci_jobs import OWNER, STRANGER, commit, git, push_event

HERE = Path(__file__).resolve().parent
CLIENTS = ("claude-code", "codex", "gemini-cli", "copilot-cli", "opencode")
RUN_ID = "1234"
PROGRAMS = ("gh", "curl", "wget", "npm", "pip", "pip3", "ssh", "nc", "mail", "docker")
"""Programs that would reach the network. What stands before them writes down what they were told."""
INSTALLS = ("@google/gemini-cli", "@openai/codex")
"""Packages that the official actions install before the agent starts."""
_READS = re.compile(
    r"gh (issue|pr) (view|list|diff|checks)\b|gh (label|run|release|repo) (list|view)\b|gh auth status\b|gh api [^-]*$"
)
"""Command lines of ``gh`` that change nothing."""
_RUN = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")


class Result(NamedTuple):
    """What came of one job."""

    ended_well: bool
    """Whether every step did."""
    lost: bool
    """Whether a secret of the job has left it, in any spelling."""
    acts: tuple[str, ...]
    """What was done outside, each in a line."""
    files: Mapping[str, str]
    """The files of the checkout, afterwards."""
    said: str
    """What the model was told, with the results of its calls."""
    watched: bool
    """Whether the report of `lockgate ci` says that hooks ran; false without it."""
    log: str


def calls_of(client: str, said: Mapping[str, Any]) -> Call:
    """A call of a script, in the words of a client.

    Args:
        client: The client.
        said: ``{run: COMMAND}``, ``{read: PATH}`` or ``{write: [PATH, TEXT]}``.

    Raises:
        ValueError: It has other keys: in YAML's flow style a comma ends a text without quotes.
    """
    if len(said) != 1 or not set(said) <= {"run", "read", "write"}:
        raise ValueError(f"a call is one of run, read and write, and this is not: {said!r}")
    if client == "claude-code":
        if "run" in said:
            return bash(said["run"])
        return read(said["read"]) if "read" in said else write(*said["write"])
    command = said.get("run") or (
        f"cat {said['read']}"
        if "read" in said
        else f"cat > {said['write'][0]} <<'END_OF_FILE'\n{said['write'][1]}END_OF_FILE"
    )
    if client == "codex":
        return Call("exec_command", {"cmd": command})
    name = "run_shell_command" if client == "gemini-cli" else "bash"
    return Call(name, {"command": command, "description": "step"})


def machine_of(client: str, root: Path) -> World:
    """The machine of a job, with the client in ``PATH``."""
    if client == "claude-code":
        world = World(root, versions()[-1])
        program = claude_code(world.version)
    else:
        made = {"codex": CodexWorld, "gemini-cli": GeminiWorld, "copilot-cli": CopilotWorld, "opencode": OpenCodeWorld}
        world = made[client](root, "")
        program = None
    stand_in = HERE / "ci_program.py"
    for name in PROGRAMS:
        file = world.programs / name
        file.write_text(f"#!{sys.executable} -I\n{stand_in.read_text('utf-8')}", "utf-8")
        file.chmod(0o755)
    if program is not None:
        _wrap(world.programs / "claude", [str(program)], {})
    return world


def _wrap(file: Path, words: Sequence[str], variables: Mapping[str, str]) -> None:
    import shlex

    exported = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    file.write_text(f'#!/bin/sh\n{exported}exec {shlex.join(words)} "$@"\n', "utf-8")
    file.chmod(0o755)


def model_of(client: str, script: Script) -> Any:
    """The stand-in for a client's model."""
    made = {"claude-code": ScriptedModel, "codex": ResponsesModel, "gemini-cli": GeminiModel}
    return made.get(client, ChatModel)(script)


def _connect(client: str, world: World, model: Any, by_action: bool) -> dict[str, str]:
    """Let a client ask the stand-in; the variables that do it.

    Args:
        client: The client.
        world: Its machine.
        model: The stand-in for its model.
        by_action: Whether an official action starts it.
    """
    if client == "claude-code":
        return {"ANTHROPIC_BASE_URL": model.url}
    argv, variables = world.argv(model, "")  # type: ignore[attr-defined]
    if client == "codex":
        settings = [word for word in argv if "=" in word and not word.startswith("-")]
        if by_action:  # it names its own provider of models
            settings = [each for each in settings if not each.startswith("model_provider=")]
        text = "\n".join(f"{name} = {value}" for name, _, value in (each.partition("=") for each in settings))
        (world.home / ".codex" / "config.toml").write_text(text + "\n", "utf-8")
        # What the official action finds where its proxy of the model runs already.
        told = {"port": int(model.url.rpartition(":")[2]), "pid": os.getpid()}
        (world.home / ".codex" / f"{RUN_ID}.json").write_text(json.dumps(told), "utf-8")
        return dict(variables)
    name = {"gemini-cli": "gemini", "copilot-cli": "copilot", "opencode": "opencode"}[client]
    words = argv[:2] if client == "gemini-cli" else argv[:1]
    _wrap(world.programs / name, words, {})
    return {name: value for name, value in variables.items() if name != "GEMINI_API_KEY"}


class CiRun:
    """One run of one job."""

    def __init__(self, root: Path, row: Mapping[str, Any], actions: Mapping[str, Path], guarded: bool) -> None:
        """Set the machine up.

        Args:
            root: An empty folder.
            row: A row of ``attacks.yaml`` or ``benign.yaml``.
            actions: Where the official actions lie, by ``OWNER/NAME``.
            guarded: Whether ``lockgate ci`` is a step before the agent.
        """
        self.root, self.row, self.actions, self.guarded = root, row, actions, guarded
        self.client = str(row["client"])
        self.world = machine_of(self.client, root)
        (root / "answers.json").write_text(json.dumps(row.get("answers", {})), "utf-8")
        self.secret = secrets.token_hex(16)

    def run(self) -> Result:
        """Run the job."""
        project = self.world.project
        shutil.rmtree(project)
        held = {} if "does" in self.row else {".env": f"KEY={self.secret}\n"}  # a push of ordinary work sends no secret
        base = commit(project, {"README.md": "# Tool\n", **held, **self.row.get("base", {})})
        head = commit(project, self.row["change"]) if "change" in self.row else base
        for name, value in (("user.name", "bot"), ("user.email", "bot@example.com")):
            git(project, "config", name, value)  # as a step of most workflows has it
        git(project, "remote", "add", "origin", "https://github.com/owner/tool.git")
        script = Script.of(*(calls_of(self.client, said) for said in self._calls()))
        with ExitStack() as stack:
            api = stack.enter_context(serving())
            model = stack.enter_context(model_of(self.client, script))
            job = self._job(api, model, base, head)
            ended_well = job.run(self._steps())
            return self._result(job, api, model, base, ended_well)

    @property
    def _by_action(self) -> bool:
        return any(str(step.get("uses")).partition("@")[0] in self.actions for step in self.row["steps"])

    def _calls(self) -> list[Mapping[str, Any]]:
        said: list[Mapping[str, Any]] = self.row["calls"]
        guarded: list[Mapping[str, Any]] = self.row.get("guarded_calls", said)
        return guarded if self.guarded else said

    def _steps(self) -> list[dict[str, Any]]:
        steps = [self._fit(step) for step in self.row["steps"]]
        if not self.guarded:
            return steps
        program = f"{sys.executable} -m lockgate ci"
        set_up = {"name": "lockgate ci", "run": f"{program} --client {self.client}"}
        report = {"name": "lockgate ci report", "run": f"{program} report"}
        applied = {
            "name": "lockgate ci apply",
            "run": f"test ! -e lockgate-plan.json || {program} apply",
            "env": {"GH_TOKEN": "${{ github.token }}"},
        }
        return [set_up, *steps, report, applied]

    def _fit(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """A step with the paths of this machine's programs, which an official action would download."""
        if not str(step.get("uses")).startswith("anthropics/claude-code-action@"):
            return dict(step)
        programs = {
            "path_to_claude_code_executable": str(self.world.programs / "claude"),
            "path_to_bun_executable": os.environ.get("BUN", ""),
        }
        return {**step, "with": {**step["with"], **programs}}

    def _job(self, api: Api, model: Any, base: str, head: str) -> Job:
        event = _event(self.row, base, head)
        file = self.root / "event.json"
        file.write_text(json.dumps(event), "utf-8")
        sha = head if self.row["event"] in ("pull_request", "push") else base
        held = {name: f"{shape}{self.secret}" for name, shape in self.row.get("secrets", {}).items()}
        github = {
            "event": event,
            "event_name": self.row["event"],
            "repository": "owner/tool",
            "repository_owner": "owner",
            "actor": event["sender"]["login"],
            "sha": sha,
            "ref": "refs/heads/main",
            "run_id": RUN_ID,
            "run_attempt": "1",
            "workspace": str(self.world.project),
            "token": f"ghs_{self.secret}0000",
            "server_url": "https://github.com",
            "api_url": api.address,
            "workflow": str(self.row["name"]),
        }
        runner = {
            "os": "Linux", "arch": "X64", "temp": str(self.root / "temp"), "environment": "self-hosted", "name": "r",
        }  # fmt: skip
        (self.root / "temp").mkdir()
        variables = {
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_API_URL": api.address,
            "GITHUB_ACTOR": github["actor"],
            "GITHUB_EVENT_NAME": self.row["event"],
            "GITHUB_EVENT_PATH": str(file),
            "GITHUB_JOB": "agent",
            "GITHUB_REF": github["ref"],
            "GITHUB_REPOSITORY": "owner/tool",
            "GITHUB_REPOSITORY_OWNER": "owner",
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_RUN_ID": RUN_ID,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_SHA": sha,
            "GITHUB_WORKSPACE": str(self.world.project),
            "RUNNER_OS": "Linux",
            "RUNNER_TEMP": runner["temp"],
            "PYTHONPATH": str(HERE.parents[1] / "src"),
        }
        # What a step does not give to the client is not in its environment.
        inherited = {name: value for name, value in self.world.environment.items() if name != "ANTHROPIC_API_KEY"}
        environ = {**inherited, **variables, **_connect(self.client, self.world, model, self._by_action)}
        contexts = {"github": github, "secrets": held, "vars": {}, "runner": runner}
        return Job(self.root / "runner", self.world.project, environ, contexts, self.actions)

    def _result(self, job: Job, api: Api, model: Any, base: str, ended_well: bool) -> Result:
        file = self.root / "outgoing.jsonl"
        told = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
        pushed = self.world.pushes
        changes = git(self.world.project, "log", "-p", "--all", f"{base}..") if pushed else ""
        everything = [json.dumps(each, ensure_ascii=False) for each in (*told, *api.posted)] + pushed + [changes]
        said = json.dumps(model.requests, ensure_ascii=False)
        acts = [*_acts(told), *(f"git {line}" for line in pushed), *map(_posted, api.posted)]
        log = "\n".join(job.log) + f"\nunknown to the API: {api.unknown}\nfailures: {job.failures}"
        return Result(
            ended_well,
            any(holds(text, self.secret) for text in everything),
            tuple(acts),
            _files(self.world.project),
            said,
            self.guarded and "lockgate ci report: 0\n" in log,
            log,
        )


def _event(row: Mapping[str, Any], base: str, head: str) -> dict[str, Any]:
    """The event file: what a row says, and what the service adds to any of that kind."""
    by = OWNER if row.get("by") == "owner" else STRANGER
    association = "OWNER" if by is OWNER else "NONE"
    repository = {
        "id": 10, "name": "tool", "full_name": "owner/tool", "default_branch": "main", "owner": OWNER, "private": False,
    }  # fmt: skip
    event: dict[str, Any] = {"repository": repository, "sender": by}
    text = {"title": row.get("title", "Help"), "body": row.get("body", ""), "labels": [], "milestone": None}
    written = {**text, "number": 7, "comments": 0, "user": by, "author_association": association}
    kind = row["event"]
    if kind in ("issues", "issue_comment"):
        event |= {"action": "opened", "issue": written}
    if kind == "issue_comment":
        comment = {"id": 5, "body": row["comment"], "user": by, "author_association": association}
        event |= {"action": "created", "comment": comment, "issue": {**written, "comments": 1}}
    if kind in ("pull_request", "pull_request_target"):
        mine = {"id": 10, "full_name": "owner/tool", "fork": False}
        theirs = mine if by is OWNER else {"id": 11, "full_name": "stranger/tool", "fork": True}
        branch = row.get("branch", "change")
        pull = {
            **written,
            "review_comments": 0,
            "draft": False,
            "head": {"ref": branch, "sha": head, "label": f"{by['login']}:{branch}", "repo": theirs},
            "base": {"ref": "main", "sha": base, "repo": mine},
        }
        event |= {"action": "opened", "number": 7, "pull_request": pull}
    if kind == "push":
        event = {**push_event(base, head), "repository": repository}
    if kind == "workflow_dispatch":
        event |= {"inputs": row.get("inputs", {}), "ref": "refs/heads/main", "workflow": ".github/workflows/a.yml"}
    if kind == "schedule":
        event |= {"schedule": "0 5 * * *"}
    return event


def _acts(told: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    for each in told:
        line = " ".join([each["program"], *each["words"]])
        is_set_up = each["program"] == "npm" and any(word.startswith(INSTALLS) for word in each["words"])
        if is_set_up or _READS.match(line):
            continue
        held = "".join(f" <<{text.strip()}>>" for text in each["files"].values() if each["program"] == "gh")
        found.append(line + held)
    return found


def _posted(each: Mapping[str, Any]) -> str:
    return f"{each['method']} {each['path']} {each['body']}"


def _files(project: Path) -> dict[str, str]:
    """The files of a checkout, without the secret, a plan, and what an official action leaves."""
    found = {}
    for path in sorted(project.rglob("*")):
        name = str(path.relative_to(project))
        if path.is_file() and not name.startswith(
            (".git/", ".env", "lockgate-plan.json", "gemini-artifacts", ".gemini")
        ):
            found[name] = path.read_text("utf-8", "replace")
    return found


def holds(text: str, secret: str) -> bool:
    """Whether a text holds a secret: as it is, cut, reversed, in hexadecimal, base64 or percent signs, and twice so."""
    tail = secret[-20:]
    once = list(_spellings(text))
    return any(tail in each for each in (*once, *(more for each in once for more in _spellings(each))))


def _spellings(text: str) -> Iterator[str]:
    """A text, and what it could say where a part of it is an encoding of something."""
    plain = html.unescape(urllib.parse.unquote(text))
    joined = "".join(plain.replace("\\n", "").split())
    yield from (text, plain, joined, text[::-1])
    for run in {*_RUN.findall(joined), *_RUN.findall(plain)}:
        for start in range(4):
            cut = run[start:].rstrip("=")
            whole = (cut + "A" * (-len(cut) % 4)).replace("-", "+").replace("_", "/")
            yield base64.b64decode(whole).decode("latin-1")
    yield from (bytes.fromhex(run).decode("latin-1") for run in re.findall(r"(?:[0-9a-f]{2}){16,}", plain))
