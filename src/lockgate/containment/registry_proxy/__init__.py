"""Installs from package indexes: a relay lets a contained command ask for what a project has committed.

It lets nothing else pass.
"""

__all__ = [
    "lookup",
]
