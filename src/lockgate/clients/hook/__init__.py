"""What answers a client's event: the options of a hook's command line, its deadline, and the decision spelt out.

``local`` does all of it in the process of the hook. A resident gate (:mod:`lockgate.service.resident`) uses the same
parts.
"""

__all__ = [
    "answer",
    "deadline",
    "local",
    "native",
    "options",
    "start_resident",
]
