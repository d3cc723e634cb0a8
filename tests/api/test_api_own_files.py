"""What belongs to the gate, where a program keeps its state elsewhere than hooks do."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.core.model import Label

from .conftest import Open

CALLS = {
    "cat": ("Bash", {"command": "cat ~/.local/state/lockgate/key"}),
    "tar": ("Bash", {"command": "tar cf x.tar ~/.local/state/lockgate"}),
    "a container's key": ("Bash", {"command": "cat ~/.local/state/lockgate/groups/web.json"}),
    "Read": ("Read", {"file_path": "~/.local/state/lockgate/state.db"}),
    "Write": ("Write", {"file_path": "~/.local/state/lockgate/state.db", "content": ""}),
}


@pytest.mark.parametrize(("tool", "tool_input"), CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("ephemeral", [True, False])
def test_the_state_of_this_users_other_gates_is_closed(
    opened: Open, folder: Path, tool: str, tool_input: dict[str, str], ephemeral: bool
) -> None:
    home = str(folder / "home")
    given = {name: value.replace("~", home) if tool != "Bash" else value for name, value in tool_input.items()}
    gate = opened(ephemeral=True, state=None) if ephemeral else opened()
    assert gate.session().check_sync(tool, given).verdict == "deny"


@pytest.mark.parametrize(
    "command", ["cp -r ~/.local/state x", "grep -r key ~/.local/state", "tar cf x.tar -C ~ .local"]
)
def test_a_copy_of_a_folder_around_it_is_let_run_by_no_program_alone(opened: Open, command: str) -> None:
    """What stands in the state is as good as a person's yes, so a person is asked; here there is none."""
    session = opened().session()
    assert session.check_sync("Bash", {"command": command}).verdict == "deny"
    assert Label.SECRET not in session.labels()
