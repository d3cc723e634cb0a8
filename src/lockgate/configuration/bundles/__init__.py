"""A fleet's policy: one signed file, verified by every gate that has pinned a key, and bound to be followed.

Nothing here is imported by a process whose machine belongs to no fleet
(``lockgate.configuration.layers.files.may_be_in_fleet``).
"""

__all__ = [
    "acceptance",
    "enrolment",
    "envelope",
    "fleet",
    "keys",
    "manifest",
    "pins",
]
