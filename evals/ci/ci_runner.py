"""Runs the steps of a job as the service does, and the files of composite actions as they are published.

A key, an expression or a field that is not implemented ends the run: what is left out would prove nothing. Actions in
JavaScript are not executed. Those that only prepare the machine have a row in ``PREPARED``, others are an error.
Source: https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax
"""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import yaml
from ci_expressions import UnimplementedError, as_text, evaluate, is_met

_STEP = {"name", "id", "if", "uses", "with", "run", "shell", "env", "working-directory", "continue-on-error",
         "timeout-minutes"}  # fmt: skip
_ACTION = {"name", "description", "author", "branding", "inputs", "outputs", "runs"}
_INPUT = {"description", "required", "default", "deprecationMessage"}
_OUTPUT = {"description", "value"}
_SECONDS = 240
"""For one step."""

PREPARED: Mapping[str, tuple[frozenset[str], Mapping[str, str]]] = {
    "actions/checkout": (
        frozenset({"ref", "fetch-depth", "persist-credentials", "repository", "token"}),
        {},
    ),
    "actions/setup-node": (frozenset({"node-version"}), {}),
    "actions/upload-artifact": (frozenset({"name", "path"}), {}),
    "oven-sh/setup-bun": (frozenset({"bun-version", "token", "no-cache"}), {"bun-path": ""}),
}
"""Actions that the machine of the test has carried out already: which inputs they take, and what they give."""


class StepFailure(NamedTuple):
    """A step that did not end well."""

    name: str
    code: int
    says: str


class Job:
    """One job: its machine, its contexts, and what its steps have left."""

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        environ: Mapping[str, str],
        contexts: Mapping[str, Any],
        actions: Mapping[str, Path],
    ) -> None:
        """Begin a job.

        Args:
            folder: A place for the files of the runner.
            workspace: The checkout.
            environ: The variables of every step.
            contexts: ``github``, ``secrets``, ``vars`` and ``runner``.
            actions: Where composite actions lie, by ``OWNER/NAME``.
        """
        self.folder, self.workspace, self.actions = folder, workspace, actions
        self.environ: dict[str, str] = dict(environ)
        self.contexts = contexts
        self.failures: list[StepFailure] = []
        self.log: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, steps: Sequence[Mapping[str, Any]]) -> bool:
        """Run steps; whether all ended well."""
        scope: dict[str, Any] = {**self.contexts, "steps": {}, "env": self.environ, "inputs": {}}
        return self._run_all(steps, scope, self.environ, None)

    def _run_all(
        self,
        steps: Sequence[Mapping[str, Any]],
        scope: MutableMapping[str, Any],
        environ: dict[str, str],
        action: Path | None,
    ) -> bool:
        failed = False
        for step in steps:
            _check(step, _STEP, "step")
            if not is_met(step.get("if"), scope, failed):
                continue
            own = {name: as_text(_value(value, scope)) for name, value in step.get("env", {}).items()}
            outputs: dict[str, str] = {}
            code, says = self._step(step, {**scope, "env": {**environ, **own}}, {**environ, **own}, action, outputs)
            if "id" in step:
                scope["steps"][step["id"]] = {"outputs": outputs, "outcome": "failure" if code else "success"}
            environ |= self._set
            self.environ |= self._set
            name = step.get("name", step.get("uses", "run"))
            self.log.append(f"{name}: {code}\n{says}")
            if code and not _value(step.get("continue-on-error", False), scope):
                self.failures.append(StepFailure(name, code, says[-3000:]))
                failed = True
        return not failed

    def _step(
        self,
        step: Mapping[str, Any],
        scope: MutableMapping[str, Any],
        environ: dict[str, str],
        action: Path | None,
        outputs: dict[str, str],
    ) -> tuple[int, str]:
        self._set: dict[str, str] = {}
        if "run" in step:
            return self._script(step, scope, environ, action, outputs)
        name, _, ref = str(step["uses"]).partition("@")
        if not ref:
            raise UnimplementedError(f"uses: {step['uses']}")
        given = {key: as_text(_value(value, scope)) for key, value in step.get("with", {}).items()}
        if name in PREPARED:
            _check(given, PREPARED[name][0], name)
            outputs |= PREPARED[name][1]
            return 0, ""
        if name not in self.actions:
            raise UnimplementedError(f"uses: {name}")
        return self._composite(self.actions[name], given, environ, outputs)

    def _composite(
        self, folder: Path, given: Mapping[str, str], environ: dict[str, str], outputs: dict[str, str]
    ) -> tuple[int, str]:
        action = yaml.safe_load((folder / "action.yml").read_text("utf-8"))
        _check(action, _ACTION, "action")
        inputs = action.get("inputs", {})
        _check(given, set(inputs), f"inputs of {action['name']}")
        for each in inputs.values():
            _check(each, _INPUT, "input")
        runs = action["runs"]
        _check(runs, {"using", "steps"}, "runs")
        if runs["using"] != "composite":
            raise UnimplementedError(f"runs.using: {runs['using']}")
        contexts = {**self.contexts, "github": {**self.contexts["github"], "action_path": str(folder)}}
        values = {
            name: given.get(name, as_text(_value(each.get("default"), contexts))) for name, each in inputs.items()
        }
        # What the file itself reads and does not declare is empty: so the service has it.
        scope: dict[str, Any] = {**contexts, "inputs": Undeclared(values), "steps": {}, "env": environ}
        failures = len(self.failures)
        well = self._run_all(runs["steps"], scope, environ, folder)
        for name, each in action.get("outputs", {}).items():
            _check(each, _OUTPUT, "output")
            outputs[name] = as_text(_value(each["value"], scope))
        self._set = {}
        return (0, "") if well else (1, str(self.failures[failures:]))

    def _script(
        self,
        step: Mapping[str, Any],
        scope: Mapping[str, Any],
        environ: dict[str, str],
        action: Path | None,
        outputs: dict[str, str],
    ) -> tuple[int, str]:
        files = {name: self.folder / f"{name}-{uuid.uuid4().hex}" for name in ("OUTPUT", "ENV", "PATH", "STEP_SUMMARY")}
        for file in files.values():
            file.touch()
        script = self.folder / f"step-{uuid.uuid4().hex}.sh"
        script.write_text(as_text(_value(step["run"], scope)), "utf-8")
        told = {f"GITHUB_{name}": str(file) for name, file in files.items()}
        told |= {"GITHUB_ACTION_PATH": str(action)} if action else {}
        where = self.workspace / as_text(_value(step.get("working-directory", ""), scope))
        said = self.folder / f"step-{uuid.uuid4().hex}.log"
        with said.open("wb") as log:
            code = _call(_shell(step.get("shell"), script), where, {**told, **environ}, log)
        outputs |= _pairs(files["OUTPUT"])
        self._set = _pairs(files["ENV"])
        if added := files["PATH"].read_text("utf-8").split():
            self._set["PATH"] = os.pathsep.join([*reversed(added), environ["PATH"]])
        return code, said.read_text("utf-8", "replace")


class Undeclared(dict[str, Any]):
    """The inputs of an action. One that its own file does not declare is empty."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> None:
        return None


def _call(words: Sequence[str], where: Path, environ: Mapping[str, str], log: BinaryIO) -> int:
    """Run a program, and what it starts, for some time; its exit status."""
    with subprocess.Popen(
        words, cwd=where, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    ) as started:
        try:
            return started.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            return 124


def _value(value: Any, scope: Mapping[str, Any]) -> Any:
    return evaluate(value, scope) if isinstance(value, str) else value


def _check(given: Mapping[str, Any], known: frozenset[str] | set[str], where: str) -> None:
    unknown = sorted(set(map(str, given)) - set(known))
    if unknown:
        raise UnimplementedError(f"{where}: {', '.join(unknown)}")


def _shell(given: Any, script: Path) -> list[str]:
    if given is None:
        return ["bash", "-e", str(script)]
    if given == "bash":
        return ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    if isinstance(given, str) and given.endswith(" {0}"):
        return [*given.removesuffix(" {0}").split(), str(script)]
    raise UnimplementedError(f"shell: {given}")


def _pairs(file: Path) -> dict[str, str]:
    """What a step has written into a file of outputs or variables."""
    found: dict[str, str] = {}
    lines: Iterator[str] = iter(file.read_text("utf-8").split("\n"))
    for line in lines:
        name, is_joined, value = line.partition("=")
        if "<<" in line and ("=" not in line or line.index("<<") < line.index("=")):
            name, _, mark = line.partition("<<")
            held = []
            for each in lines:
                if each == mark:
                    break
                held.append(each)
            found[name] = "\n".join(held)
        elif is_joined:
            found[name] = value
        elif line:
            raise UnimplementedError(f"a line of a file of outputs: {line[:80]}")
    return found
