"""A throw-away machine for one test with another client than Claude Code."""

from __future__ import annotations

import json
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.clients import ROOT
from e2e.harness.other_models import OtherModel
from e2e.harness.script import Call, Script, Turn
from e2e.harness.world import World
from support.gates import end_gates

_MODULES = ROOT / ".clients" / "node_modules"
_PATIENCE = 120
"""Seconds for one run of the client; it takes one to six where the machine is free."""
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
"""Of the shape of a provider's key; nobody's."""
_TRIPLES = {"linux": "unknown-linux-musl", "darwin": "apple-darwin"}


class OtherWorld(World):
    """Folders of one test, and a client in them that needs no account."""

    def _answer_first_run_questions(self) -> None:
        raise NotImplementedError

    def _declare_mcp_server(self) -> None:
        """It stands in the client's own settings."""

    @property
    def _tracker(self) -> tuple[str, list[str]]:
        server = Path(__file__).with_name("tracker_server.py")
        return sys.executable, ["-I", str(server), str(self.root / "mails")]

    def put_files(self) -> None:
        """Put a project down: code that reads a secret, that secret, and a file with a token in it."""
        (self.project / "report.sh").write_text("echo working > made.txt; cat .env; echo over; sleep 1\n")
        (self.project / ".env").write_text("KEY=geheim\n")
        (self.project / "config.txt").write_text(f"first line\ntoken = {TOKEN}\nlast line\n")

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        raise NotImplementedError

    def ask(self, model: OtherModel, prompt: str = "please go on") -> str:
        """Run the client without a terminal until it ends; returns what it printed."""
        argv, variables = self.argv(model, prompt)
        done = subprocess.run(
            argv,
            cwd=self.project,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )
        assert done.returncode == 0, f"the client failed: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout

    def make_state_garbage(self) -> None:
        """Break the gate's memory."""
        end_gates(self.root)  # one that is running has what it needs in memory and in the log
        (self.home / ".local" / "state" / "lockgate" / "lockgate.db").write_text("not a database")

    def breaks_in_the_middle(self, model: OtherModel, shell: Callable[[str], Call], breaks: Callable[[], None]) -> None:
        """Run the client, with a gate that breaks between two calls: the second must not run."""
        model.script = Script.of(shell("touch before.txt"), Turn([shell("touch ran.txt")], before=breaks))
        self.ask(model)
        assert (self.project / "before.txt").exists()
        assert not (self.project / "ran.txt").exists()
        assert "lockgate" in model.result(1).lower()


class CodexWorld(OtherWorld):
    """Codex CLI, with plain tools: for a model that it does not know, it offers no cells of code."""

    client = "codex"
    model = "no-such-model"

    @property
    def hooks(self) -> Path:
        """The file with its hooks."""
        return self.home / ".codex" / "hooks.json"

    def _answer_first_run_questions(self) -> None:
        (self.home / ".codex").mkdir()
        program = _found("@openai/codex", _codex_program())
        (self.programs / "codex").symlink_to(program)
        # Its shells are login shells, and the system's profile sets PATH anew.
        (self.home / ".bash_profile").write_text(f"PATH={shlex.quote(self.environment['PATH'])}\n")

    def install(self, package: Path | None = None) -> None:
        """Install Lockgate, with its hooks trusted: Codex leaves out others."""
        self.lockgate("install", self.client, "--trust", package=package)

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        command, arguments = self._tracker
        settings = {
            "model": self.model,
            "model_provider": "scripted",
            "approval_policy": "never",
            "sandbox_mode": "danger-full-access",
            "check_for_update_on_startup": False,
            "model_providers.scripted.name": "scripted",
            "model_providers.scripted.base_url": f"{model.url}/v1",
            "model_providers.scripted.env_key": "SCRIPTED_KEY",
            "model_providers.scripted.wire_api": "responses",
            "model_providers.scripted.request_max_retries": 0,
            "model_providers.scripted.stream_max_retries": 0,
            "model_providers.scripted.supports_websockets": False,
            "features.enable_request_compression": False,
            "analytics.enabled": False,
            "mcp_servers.tracker.command": command,
            "mcp_servers.tracker.args": arguments,
        }
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]
        argv = [str(self.programs / "codex"), "exec", "--json", "--skip-git-repo-check", *options, prompt]
        return argv, {"SCRIPTED_KEY": "none", "RUST_LOG": "error"}


class GeminiWorld(OtherWorld):
    """Gemini CLI."""

    client = "gemini-cli"

    @property
    def hooks(self) -> Path:
        """The file with its hooks."""
        return self.home / ".gemini" / "settings.json"

    def _answer_first_run_questions(self) -> None:
        (self.home / ".gemini").mkdir()
        command, arguments = self._tracker
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "telemetry": {"enabled": False},
            "privacy": {"usageStatisticsEnabled": False},
            "model": {"name": "gemini-2.5-flash"},
            "mcpServers": {"tracker": {"command": command, "args": arguments, "trust": True}},
        }
        self.hooks.write_text(json.dumps(settings, indent=2))

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        node = shutil.which("node")
        assert node, "node is needed"
        program = _found("@google/gemini-cli", _MODULES / "@google" / "gemini-cli" / "bundle" / "gemini.js")
        variables = {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        return [node, str(program), "-p", prompt, "-o", "json", "--yolo"], variables


class CopilotWorld(OtherWorld):
    """GitHub Copilot CLI, with a model of one's own, for which it needs no account."""

    client = "copilot-cli"
    options: tuple[str, ...] = ("--allow-all-tools",)
    """What it may do unasked."""

    @property
    def hooks(self) -> Path:
        """The file with its hooks."""
        return self.home / ".copilot" / "hooks" / "lockgate.json"

    def _answer_first_run_questions(self) -> None:
        (self.home / ".copilot").mkdir()
        (self.home / ".copilot" / "config.json").write_text(json.dumps({"trustedFolders": [str(self.project)]}))

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        return [*self.started(), "-p", prompt, *self.options], self.variables(model)

    def started(self) -> list[str]:
        """The program, with the tracker's tools."""
        program = _found("@github/copilot", _MODULES / "@github" / f"copilot-{sys.platform}-{_short()}" / "copilot")
        command, arguments = self._tracker
        server = {"type": "local", "command": command, "args": arguments, "tools": ["*"]}
        servers = json.dumps({"mcpServers": {"tracker": server}})
        return [str(program), "--no-auto-update", "--additional-mcp-config", servers]

    def variables(self, model: OtherModel) -> dict[str, str]:
        """Variables beside those of every program."""
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "gpt-4.1",
            "COPILOT_AUTO_UPDATE": "false",
        }


class OpenCodeWorld(OtherWorld):
    """OpenCode."""

    client = "opencode"
    options: tuple[str, ...] = ()
    commands = ".opencode/command"
    """The project's folder for commands that a person calls by name."""

    @property
    def hooks(self) -> Path:
        """The plugin that puts each call to the gate."""
        return self.home / ".config" / "opencode" / "plugins" / "lockgate.js"

    def _answer_first_run_questions(self) -> None:
        """The client installs the types of its plugins at its first start, where they are not there."""
        folder = self.home / ".config" / "opencode"
        modules = folder / "node_modules" / "@opencode-ai"
        modules.mkdir(parents=True)
        package = _found("@opencode-ai/plugin", _MODULES / "@opencode-ai" / "plugin")
        (modules / "plugin").symlink_to(package)
        version = json.loads((package / "package.json").read_text())["version"]
        (folder / "package.json").write_text(json.dumps({"dependencies": {"@opencode-ai/plugin": version}}))

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        program = _found("opencode", _MODULES / f"opencode-{sys.platform}-{_short()}" / "bin" / "opencode")
        variables = {
            "OPENCODE_CONFIG_CONTENT": json.dumps(self._settings(model)),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }
        return [str(program), "run", "--format", "json", prompt, *self.options], variables

    def _settings(self, model: OtherModel) -> dict[str, Any]:
        command, arguments = self._tracker
        limit = {"context": 100000, "output": 8000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
            "models": {"m": {"name": "m", "tool_call": True, "limit": limit}},
        }
        return {
            "model": "scripted/m",
            "small_model": "scripted/m",
            "autoupdate": False,
            "share": "disabled",
            "provider": {"scripted": provider},
            "mcp": {"tracker": {"type": "local", "command": [command, *arguments], "enabled": True}},
            "permission": self.permission,
        }

    @cached_property
    def permission(self) -> dict[str, Any]:
        """The client's own rules."""
        return {}


class KiloWorld(OpenCodeWorld):
    """Kilo, a descendant of OpenCode. It may do unasked what no rule forbids."""

    client = "kilo"
    options: tuple[str, ...] = ("--auto",)
    commands = ".kilo/command"

    @property
    def hooks(self) -> Path:
        """The plugin that puts each call to the gate."""
        return self.home / ".config" / "kilo" / "plugins" / "lockgate.js"

    def _answer_first_run_questions(self) -> None:
        """The client installs the types of its plugins too, and waits two minutes where it cannot."""
        folder = self.home / ".config" / "kilo"
        (folder / "node_modules").mkdir(parents=True)
        installed = {"packages": {"": {"dependencies": {"@kilocode/plugin": "*"}}}}
        (folder / "package-lock.json").write_text(json.dumps(installed))

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        package = f"@kilocode/cli-{sys.platform}-{_short()}"
        program = _found(package, _MODULES / package / "bin" / "kilo")
        variables = {
            "KILO_CONFIG_CONTENT": json.dumps(self._settings(model)),
            "KILO_DISABLE_AUTOUPDATE": "1",
            "KILO_DISABLE_MODELS_FETCH": "1",
            "KILO_DISABLE_SESSION_INGEST": "1",
            "KILO_TELEMETRY_LEVEL": "off",
            # It looks for models and plans of its maker's, whatever it is told.
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
        }
        return [str(program), "run", "--format", "json", prompt, *self.options], variables


class ClineWorld(OtherWorld):
    """Cline, whose plugins run in a process of Node."""

    client = "cline"

    @property
    def hooks(self) -> Path:
        """The plugin that puts each call to the gate."""
        return self.home / ".cline" / "plugins" / "lockgate.js"

    def _answer_first_run_questions(self) -> None:
        folder = self.home / ".cline" / "data" / "settings"
        folder.mkdir(parents=True)
        command, arguments = self._tracker
        tracker = {"command": command, "args": arguments, "type": "stdio"}
        (folder / "cline_mcp_settings.json").write_text(json.dumps({"mcpServers": {"tracker": tracker}}))

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        settings = {"provider": "openai-compatible", "apiKey": "none", "model": "m", "baseUrl": f"{model.url}/v1"}
        provider = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        told = {"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}}
        file = self.home / ".cline" / "data" / "settings" / "providers.json"
        file.write_text(json.dumps({**told, "providers": {"openai-compatible": provider}}))
        package = f"@cline/cli-{sys.platform}-{_short()}"
        program = _found(package, _MODULES / package / "bin" / "cline")
        variables = {
            "CLINE_TELEMETRY_DISABLED": "1",
            # Without its plugins it would run unguarded, and on a busy machine they load slowly.
            "CLINE_PLUGIN_IMPORT_TIMEOUT_MS": "60000",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
        }
        return [str(program), "--json", "--auto-approve", "true", prompt], variables

    def put_workflow(self, name: str, text: str) -> None:
        """Put a workflow into the project: its text goes to the model where ``/name`` was typed."""
        folder = self.project / ".clinerules" / "workflows"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(f"{text}\n")


class PiWorld(OtherWorld):
    """pi, which wants a newer Node than some systems have."""

    client = "pi"
    options: tuple[str, ...] = ()

    @property
    def hooks(self) -> Path:
        """The extension that puts each call to the gate."""
        return self.home / ".pi" / "agent" / "extensions" / "lockgate.js"

    def _answer_first_run_questions(self) -> None:
        folder = self.home / ".pi" / "agent"
        folder.mkdir(parents=True)
        command, arguments = self._tracker
        tracker = {"command": command, "args": arguments, "exposure": "direct"}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"tracker": tracker}}))
        settings = {"defaultProvider": "scripted", "defaultModel": "m", "enableInstallTelemetry": False}
        (folder / "settings.json").write_text(json.dumps(settings))

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        return [*self.started(model), *self.options, "-p", prompt], {"PI_OFFLINE": "1"}

    def started(self, model: OtherModel) -> list[str]:
        """The program, with a model of the test's."""
        api = {"baseUrl": f"{model.url}/v1", "apiKey": "none", "api": "openai-completions", "models": [{"id": "m"}]}
        models = self.home / ".pi" / "agent" / "models.json"
        models.write_text(json.dumps({"providers": {"scripted": api}}))
        package = "@earendil-works/pi-coding-agent"
        return [_node(), str(_found(package, _MODULES / package / "dist" / "bundle" / "cli.js"))]


class QwenWorld(OtherWorld):
    """Qwen Code, which wants a newer Node than some systems have."""

    client = "qwen-code"
    options: tuple[str, ...] = ("--yolo",)
    """What it may do unasked."""

    @property
    def hooks(self) -> Path:
        """The file with its hooks."""
        return self.home / ".qwen" / "settings.json"

    def _answer_first_run_questions(self) -> None:
        (self.home / ".qwen").mkdir()
        command, arguments = self._tracker
        settings = {
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False},
            # Through a terminal of its own it loses what a short command prints, now and then.
            "tools": {"shell": {"enableInteractiveShell": False}},
            "telemetry": {"enabled": False},
            "privacy": {"usageStatisticsEnabled": False},
            "mcpServers": {"tracker": {"command": command, "args": arguments, "trust": True}},
        }
        self.hooks.write_text(json.dumps(settings, indent=2))

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program."""
        program = _found("@qwen-code/qwen-code", _MODULES / "@qwen-code" / "qwen-code" / "cli.js")
        variables = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_MODEL": "m"}
        return [_node(), str(program), *self.options, "-p", prompt], variables


class KimiWorld(OtherWorld):
    """Kimi Code, which wants a newer Node than some systems have."""

    client = "kimi-code"

    @property
    def hooks(self) -> Path:
        """The file with its hooks."""
        return self.home / ".kimi-code" / "config.toml"

    def _answer_first_run_questions(self) -> None:
        self.hooks.parent.mkdir()
        command, arguments = self._tracker
        server = {"mcpServers": {"tracker": {"command": command, "args": arguments}}}
        (self.hooks.parent / "mcp.json").write_text(json.dumps(server))
        self.hooks.write_text(_KIMI)

    def argv(self, model: OtherModel, prompt: str) -> tuple[list[str], dict[str, str]]:
        """Command line, and variables beside those of every program. The model's address stands in its settings."""
        self.hooks.write_text(re.sub('"http[^"]*"', f'"{model.url}/v1"', self.hooks.read_text()))
        program = _found("@moonshot-ai/kimi-code", _MODULES / "@moonshot-ai" / "kimi-code" / "dist" / "main.mjs")
        variables = {"KIMI_CODE_NO_AUTO_UPDATE": "1", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
        return [_node(), str(program), "-p", prompt, "--output-format", "stream-json"], variables


_KIMI = """default_model = "scripted"
default_permission_mode = "auto"

[providers.scripted]
type = "openai"
api_key = "none"
base_url = "http://127.0.0.1"

[models.scripted]
provider = "scripted"
model = "m"
max_context_size = 128000
"""


def _node() -> str:
    """The newer Node of a package from npm, where there is one for this system."""
    own = _MODULES / f"node-{sys.platform}-{_short()}" / "bin" / "node"
    node = str(own) if own.exists() else shutil.which("node")
    assert node, "node is needed"
    return node


def _machine() -> str:
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def _short() -> str:
    return "x64" if _machine() == "x86_64" else "arm64"


def _codex_program() -> Path:
    machine, short = _machine(), _short()
    vendor = _MODULES / "@openai" / f"codex-{sys.platform}-{short}" / "vendor"
    return vendor / f"{machine}-{_TRIPLES.get(sys.platform, sys.platform)}" / "bin" / "codex"


def _found(package: str, program: Path) -> Path:
    """A missing client fails the test: a check that did not run is no check."""
    if not program.exists():
        pytest.fail(f"{package} is not installed; run scripts/install_clients.sh", pytrace=False)
    return program
