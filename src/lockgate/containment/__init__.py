"""Runs a command that nobody can see through where it can talk to nobody.

The gate rewrites the command so that ``lockgate/contain.py`` runs it in a sandbox: no network, no sockets of this
machine, no secrets, and write access to the project alone, without the places that are executed or trusted later.
What the sandbox looks like is a :class:`~lockgate.containment.plan.Plan`; who builds it (bubblewrap, or the
kernel's namespaces) is a *way*. Where none works on this host, the table's next verdict is taken.
"""

from lockgate.containment.host import host, problem
from lockgate.containment.host_facts import Host

__all__ = [
    "Host",
    "backends",
    "host",
    "layout",
    "left_out",
    "leftovers",
    "linux",
    "problem",
    "registry_proxy",
    "request",
    "rewriting",
    "rooms",
    "supervisor",
]
