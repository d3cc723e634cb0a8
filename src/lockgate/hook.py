"""The process that an agent client runs for every event: one JSON object in, one answer out.

It is run by absolute path in an isolated interpreter without site packages. So neither the environment nor the project
can change what is imported::

    /abs/python -I -S /abs/lockgate/hook.py CLIENT --home H --state S --config C [--event E] [--settings F]
        [--plugin DATA] [--remote PLACE --key-file F [--ca-file F]]

CLIENT is one of :data:`lockgate.clients.adapter.CLIENTS`. It asks the resident gate of the state folder
(:mod:`lockgate.service.resident`), and imports nothing for that but two modules which are part of the interpreter.
Where none is there, it starts one and decides by itself (:mod:`lockgate.clients.hook.local`), or waits for one that
another hook has just started; where none answers at once, it decides by itself. Should the interpreter hang or die, the
exit code is not zero, and the shell around it (``|| exit 2``) blocks.

As the program of a process it is compiled at each start, so it only loads what is compiled once.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import NoReturn

_LAST_RESORT = (
    b'{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": '
    b'"Lockgate could not decide and blocks to be safe: its own code cannot be loaded. Run: lockgate doctor"}}\n'
)
"""The refusal where nothing else can be loaded."""


def main(arguments: "Sequence[str]") -> "NoReturn":
    """Answer one event and end the process.

    Args:
        arguments: The client's name, then options (see the module's text).
    """
    try:
        data, began, forged = _load().ask_first(arguments)
        from lockgate.clients.hook import local
    except BaseException:  # noqa: BLE001 - nothing may keep the refusal from being written
        _refuse()
    local.main(arguments, data, began, forged)


def _load() -> "ModuleType":
    """The module that asks a gate, by its file: a look through the folders of packages takes longer than to load it."""
    from _frozen_importlib import ModuleSpec, module_from_spec
    from _frozen_importlib_external import SourceFileLoader

    path = __file__.rpartition("/")[0] + "/clients/hook/ask_resident.py"
    loader = SourceFileLoader("lockgate.clients.hook.ask_resident", path)
    spec = ModuleSpec(loader.name, loader, origin=path)
    spec.has_location = True
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def _refuse() -> "NoReturn":
    import posix

    for descriptor, text in ((1, _LAST_RESORT), (2, b"Lockgate blocks to be safe: its own code cannot be loaded\n")):
        try:  # noqa: SIM105 - contextlib is not loaded for it
            posix.write(descriptor, text)
        except OSError:
            pass
    posix._exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
