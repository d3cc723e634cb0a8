"""SHA-256 and BLAKE2b from the interpreter's own modules.

``hashlib`` gives the same functions, and prefers OpenSSL's: importing that costs a hook more than all the hashing that
it does. Where an interpreter was built without its own (a FIPS build may be), ``hashlib`` has them.
"""

from __future__ import annotations

import sys

from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:
        from hashlib import blake2b, sha256

__all__ = ["blake2b", "sha256"]
