"""``eval "$(fnm env)"``: code that a tool prints for the shell to take in, as ``source`` takes in a file."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import CommandSub, Pipeline, Simple
from lockgate.shell.knowledge import lookup as knowledge

if TYPE_CHECKING:
    from lockgate.shell.grammar.tree import Word


def sets_up(words: tuple[Word, ...]) -> bool:
    """Whether the words of ``eval`` are nothing but what one tool of the table ``shell_setups`` prints.

    What it prints is the tool's own, or the settings of the project: it runs unseen, and was written by nobody else.
    """
    rest = words[2:] if len(words) > 1 and words[1].literal == "--" else words[1:]
    parts = [part for word in rest for part in word.parts]
    if len(parts) != 1 or not isinstance(parts[0], CommandSub) or len(parts[0].script.commands) != 1:
        return False
    command = parts[0].script.commands[0]
    if isinstance(command, Pipeline) and len(command.commands) == 1:
        command = command.commands[0]
    if not isinstance(command, Simple) or command.assignments:
        return False
    texts = [word.literal for word in command.words]
    if not texts or None in texts:
        return False
    name, *given = (str(text) for text in texts)
    wanted = knowledge.table("shell_setups").get(name.rpartition("/")[2])
    return wanted is not None and any(given[: len(start)] == start if start else not given for start in wanted)
