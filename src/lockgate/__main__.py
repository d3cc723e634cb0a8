"""``python -m lockgate`` and the ``lockgate`` command."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; a hook and a status line take the short way, past everything that they do not need."""
    arguments = sys.argv[1:]
    if not {"-h", "--help"} & set(arguments):
        if arguments[:1] == ["hook"]:
            from lockgate import hook

            hook.main(arguments[1:])
        if arguments[:1] == ["statusline"] and not os.isatty(0):  # a person who tries it is told what it is for
            from lockgate import statusline

            statusline.main(arguments[1:])
    from lockgate.cli.main import cli

    cli(prog_name="lockgate")


if __name__ == "__main__":
    main()
