"""Say which entries of the program knowledge give a word a role that no function plays.

The compiler of the tables cannot: roles lie above the knowledge.
"""

import sys

from lockgate.shell.knowledge.data.build import find_unknown_roles
from lockgate.shell.programs.roles import ROLES


def main() -> int:
    """Print each one; the exit code says whether there are any."""
    found = find_unknown_roles(ROLES.keys())
    sys.stderr.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
