"""The resident gate: one process for a state folder, which answers the hooks of all clients of its user.

A hook is a process per tool call; most of what it costs is starting an interpreter and loading what a decision takes.
The resident gate has all of that loaded, and the hook only carries the question to it and the answer back
(:mod:`lockgate.hook`). It decides nothing that a hook would not decide by itself: both run
:mod:`lockgate.clients.hook`. It keeps nothing that is not in the store before it is answered, so it can be killed at
any moment.

``wire`` is what is said, ``places`` where, ``starting`` how it comes up, ``process`` its life, ``deciding`` its work.
"""

__all__ = [
    "containment",
    "process",
]
