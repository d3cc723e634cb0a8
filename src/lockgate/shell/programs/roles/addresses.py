"""Notes which addresses and machines a program talks to. These roles record no effects."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall, Role
    from lockgate.shell.state.scope import Arg


def apply_url(call: ProgramCall, words: list[Arg], _: str) -> None:
    """Addresses that are read, unless something is sent."""
    call.contact.targets += [("url", word) for word in words]


def apply_host(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Machines that are connected to; an absolute path is a socket on this one."""
    doubt_place(call, option)
    call.contact.targets += [("host", word) for word in words if not word.text.startswith("/")]


def send_to(call: ProgramCall, words: list[Arg], option: str) -> None:
    """Addresses that something is sent to: data, or many requests."""
    doubt_place(call, option)
    call.contact.sends = call.contact.sends or f"`{call.what}` sends to the address that it is given"
    call.contact.targets += [("url", word) for word in words]


def doubt_place(call: ProgramCall, option: str) -> None:
    """Where an option stands that is not known, the operand behind it may be its value, and another one the address."""
    if not option and call.matched.unknown:
        reroute(call, [], call.matched.unknown[0].shown)


def reroute(call: ProgramCall, words: list[Arg], option: str) -> None:
    """The request may go elsewhere than its address says."""
    call.contact.rerouted = True
    call.contact.sends = call.contact.sends or f"`{option}` decides elsewhere where `{call.what}` connects to"


FUNCTIONS: dict[str, Role] = {
    "url": apply_url,
    "host": apply_host,
    "reroute": reroute,
    "send-to": send_to,
}
"""The function that applies each role."""
