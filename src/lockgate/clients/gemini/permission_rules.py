"""The person's own rules about shell commands in Gemini CLI, where the gate is about to spell a command differently.

The client (0.61.0) asks its policy after the hooks, so a rule would be held against the rewritten command and would not
know it again. Where a file or the command line may hold a rule about the shell, no command is rewritten.
"""

from __future__ import annotations

import os

from lockgate.clients.common.transcripts import read_file
from lockgate.core.events import Context
from lockgate.system.process_arguments import command_line

_MOST = 4 * 1024 * 1024
_ABOUT_SHELL = (b"run_shell_command", b"ShellTool", b"commandPrefix", b"commandRegex")
_SYSTEM = ("/etc/gemini-cli", "/Library/Application Support/GeminiCli")


def has_shell_rules(context: Context, home: str) -> bool:
    """Whether there may be a rule about shell commands. In doubt there is."""
    started = command_line(context.process)
    if (not started.exact and not started.words) or any(_is_about_shell(os.fsencode(word)) for word in started.words):
        return True
    files = []
    for folder in (os.path.join(home, ".gemini"), os.path.join(context.workspace, ".gemini"), *_SYSTEM):
        files.append(os.path.join(folder, "settings.json"))
        policies = os.path.join(folder, "policies")
        try:
            files += [os.path.join(policies, name) for name in os.listdir(policies)]
        except OSError:
            continue
    return any(_is_about_shell(read_file(file, _MOST) or b"") for file in files)


def _is_about_shell(text: bytes) -> bool:
    return any(word in text for word in _ABOUT_SHELL)
