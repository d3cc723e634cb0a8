"""Reads shell commands: text to syntax tree, tree to programs, programs to effects."""

from lockgate.shell.analyse import analyse_shell

__all__ = [
    "analyse",
    "analyse_shell",
    "grammar",
    "knowledge",
    "report",
    "state",
]
