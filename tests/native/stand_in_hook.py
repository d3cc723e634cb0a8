"""In the place of ``lockgate/hook.py``: tells as JSON how it was started, and exits with 7."""

import hashlib
import json
import os
import sys

try:
    data = os.read(0, 0) or b"".join(iter(lambda: os.read(0, 1 << 20), b""))
    error = ""
except OSError as problem:
    data, error = b"", type(problem).__name__


def is_open(descriptor: int) -> bool:
    """Whether a descriptor is one of an open file."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


report = {
    "arguments": sys.argv[1:],
    "isolated": bool(sys.flags.isolated and sys.flags.no_site),
    "interpreter": sys.executable,
    "size": len(data),
    "digest": hashlib.sha256(data).hexdigest(),
    "error": error,
    "folder": os.getcwd(),
    "parent": os.getppid(),
    "process": os.getpid(),
    "resident": os.environ.get("LOCKGATE_RESIDENT"),
    "descriptors": [descriptor for descriptor in range(20) if is_open(descriptor)],
}
try:
    os.write(1, json.dumps(report).encode())
    code = 7
except OSError:
    code = 2
os._exit(code)
