"""Calls all that the knowledge says only computes, with odd arguments, and prints what Python's audit hooks saw of it.

Run as a program, with the table as JSON on standard input.
"""

import builtins
import contextlib
import importlib
import io
import json
import signal
import sys

WATCHED = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "subprocess", "socket.", "ctypes", "pty")
ARGUMENTS = [
    (), ("x",), ("a", "b"), (1,), (1, 2), ([1, 2],), (["a", "b"],), ({"a": 1},), (b"ab",), ("x", "a", "b"),
    (lambda *_: 1,), (lambda *_: 1, [1, 2]),
]  # fmt: skip
_LEFT_OUT = "sys.exit time.sleep math.factorial math.comb math.perm exit quit input range bytes bytearray"
LEFT_OUT = frozenset(_LEFT_OUT.split())
"""What would end this program, or take long with some argument."""

seen: list[str] = []
where = ""


def watch(event: str, _: tuple) -> None:
    if where and event.startswith(WATCHED):
        seen.append(f"{where}: {event}")


def values(name: str, value: object):
    """The value, or what it gives when it is called."""
    global where
    if not callable(value):
        yield value
        return
    for arguments in ARGUMENTS:
        where = name
        with contextlib.suppress(BaseException):
            yield value(*arguments)
        where = ""


def look(name: str, value: object, attributes: list[str], looked: set) -> None:
    for found in values(name, value):
        for attribute in attributes:
            if (type(found), attribute) in looked:
                continue
            looked.add((type(found), attribute))
            with contextlib.suppress(BaseException):
                path = f"{type(found).__name__}.{attribute}"
                given = list(values(path, getattr(found, attribute)))
                seen.extend(f"{path} is a module" for inner in given if type(inner) is type(sys))


def main() -> None:
    table, out = json.load(sys.stdin), sys.stdout
    sys.stdin, sys.stdout, sys.stderr = io.StringIO("x\n"), io.StringIO(), io.StringIO()
    attributes, looked = table["attributes"].split(), set()
    sys.addaudithook(watch)
    signal.alarm(60)
    for module, names in table["modules"].items():
        for name in names.split():
            found = getattr(importlib.import_module(module), name, None)
            if f"{module}.{name}" not in LEFT_OUT and found not in (sys.stdin, sys.stdout, sys.stderr):
                look(f"{module}.{name}", found, attributes, looked)
    for name in table["builtins"].split():
        if name not in LEFT_OUT:
            look(name, getattr(builtins, name, None), attributes, looked)
    json.dump(sorted(set(seen)), out)


if __name__ == "__main__":
    main()
