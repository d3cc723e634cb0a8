"""Reading shell: text to syntax tree, tree to programs, programs to effects."""

from lockgate.analysis.shell.effects import analyse_shell

__all__ = ["analyse_shell"]
