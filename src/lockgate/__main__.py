"""``python -m lockgate`` and the ``lockgate`` command."""

from __future__ import annotations

import os
import sys

_NO_MEMORY = b"Error: there is too little memory: raise the limit (ulimit -v, the container's), or end other programs\n"


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
    try:
        from lockgate.cli.main import cli

        cli(prog_name="lockgate")
    except MemoryError:
        os.write(2, _NO_MEMORY)
        os._exit(1)


if __name__ == "__main__":
    main()
