"""Code on the command line that no reader of ours can read.

That it runs is found anyway. What is told here is how it may be written to be read, and whether it looks as if it
brought in what strangers wrote: a look at words, which only makes a verdict stricter.
"""

from __future__ import annotations

import re

from lockgate.core.model import Effect, EffectKind
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.knowledge.lookup import table

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

OTHER_SHELL = "other-shell"
"""The language of shells that are not of the Bourne family."""

_SQL = frozenset({"sql", "psql", "mysql"})
"""Languages of databases that are no files."""
_HINT = "write it for bash or sh: other shells' languages are not read"


def record_unread(call: ProgramCall, language: str, text: str, because: str = "") -> None:
    """Record that code runs that is not read.

    Args:
        call: The command that runs it.
        language: As in the role ``code-LANGUAGE``.
        text: The code, as far as it is known.
        because: Why it is not read; a sentence is made where that is left out.
    """
    if language == OTHER_SHELL:
        because = f"the language of `{call.entry.name}` is not read, only bash, sh and zsh are"
        call.own.append(Effect(EffectKind.EXECUTE, call.what, "shell:dialect", because))
        call.machine.findings.hints[_HINT] = None
    else:
        call.add_opaque(because or f"`{call.what}` runs code that cannot be seen through")
    if _loses(language, text):
        call.add("destroy")
    if talks(" ".join((*(arg.text for arg in call.args), text))):
        call.add("ingest")


def _loses(language: str, text: str) -> bool:
    """Whether code for a database shows that it removes what cannot be brought back."""
    if language in _SQL:
        from lockgate.shell.inline.sql_losses import loses

        return loses(text)
    words = table("losing_words").get(language)
    return words is not None and re.search(words, text) is not None


def talks(text: str) -> bool:
    """Whether a text names what is used to talk to other machines."""
    return any(re.search(rf"(?:(?<!\w)|(?<=-[rM]))(?:{word})", text, re.IGNORECASE) for word in table("network_words"))
