"""Lets a contained command install what a project has committed, through a relay to package indexes.

It lets nothing else pass.
"""

__all__ = [
    "lookup",
]
