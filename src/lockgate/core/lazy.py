"""Objects that are made on first use: a hook lives for one event, and pays for everything that it loads.

To compile a regular expression takes longer than to import the module that it stands in, and few are used of those that
are imported.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from typing import Any, AnyStr

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn")


class _Lazy:
    """Becomes the compiled pattern's methods at the first look at one of them."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Reached only for what is not there yet: from the second use on, a method is found like any attribute.
        import re

        compiled = re.compile(self._pattern, self._flags)
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)


def lazy_re(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What ``re.compile`` gives, later. An error in the text shows at the first use."""
    lazy: Any = _Lazy(text, flags)  # which has all of a pattern's methods
    compiled: re.Pattern[AnyStr] = lazy
    return compiled
