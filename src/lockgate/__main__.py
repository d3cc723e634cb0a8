"""``python -m lockgate`` and the ``lockgate`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; a hook takes the short way, past everything that it does not need."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        from lockgate import hook

        hook.main(arguments[1:])
    from lockgate.cli.main import cli

    cli()


if __name__ == "__main__":
    main()
