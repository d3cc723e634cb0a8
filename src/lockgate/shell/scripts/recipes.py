"""Programs that run commands out of a file of the project: make out of a makefile, npm out of ``package.json``.

Each is told in the knowledge (``recipes:``). What is found keeps to :mod:`lockgate.shell.scripts.follow`: the
call runs code of the project whatever is found; what is found is evidence, and gives its labels.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall
    from lockgate.shell.state.run import Running


def run_recipes(call: ProgramCall) -> Running[bool]:
    """Follow the recipes that a command runs; whether there were any. Then it is said already that it runs code."""
    if call.entry.recipes == "make":
        from lockgate.shell.scripts.make.running import run_make

        return run_make(call)
    if call.entry.recipes == "just":
        from lockgate.shell.scripts.just import run_just

        return run_just(call)
    from lockgate.shell.scripts.npm import run_npm

    return run_npm(call)
