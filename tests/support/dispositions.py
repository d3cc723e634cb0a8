"""Signals that tests send must reach the processes that they start, however the tests themselves were started."""

from __future__ import annotations

import signal


def let_children_hear() -> None:
    """Have processes that are started from here on not ignore what this one does.

    A shell without job control starts what stands before ``&`` with SIGINT and SIGQUIT ignored, ``nohup`` with SIGHUP,
    and each process hands that on to those that it starts. What has a handler is as by default for them.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
