"""Something that goes on while a test does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def alongside(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do some work in a thread as long as the context lasts; the event tells it that this is over."""
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
