"""Collects what a script can do, with the words that knowledge uses for effects."""

from __future__ import annotations

from lockgate.core.model import Command, Effect, EffectKind, Label, Variant
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.shell.state.abstract_text import OPAQUE, is_known, show

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lockgate.shell.grammar.tree import Unparsed
    from lockgate.shell.state.scope import Arg


class Template(Record):
    """An effect before it is known of what."""

    kind: EffectKind
    variant: Variant = Variant.PLAIN
    gives: Label | None = None
    because: str = ""
    """A sentence; ``{what}`` is replaced by the invocation in short."""
    rule: str = ""
    """The rule's name, where that is not the entry of the program."""


class ReceiptCommand(Record):
    """A command that may answer with a receipt, all of whose words are understood."""

    program: str
    """The word by which it was called."""
    name: str
    """Its entry in the knowledge, with what that says of its effects and of its answer."""
    words: Sequence[str]
    answers: Mapping[str, Any]
    operands: Sequence[Arg]
    repositories: Sequence[Arg]
    """What options name in the place of the repository around."""
    folders: tuple[str, ...]
    """Where it may run."""
    effects: Sequence[Effect]


_U = Label.UNTRUSTED
_INGEST = Template(EffectKind.INGEST, gives=_U, because="`{what}` brings in text that others can write")
_FETCH = Template(EffectKind.FETCH, gives=_U, because="`{what}` reads from the network")
_KNOWN = Template(EffectKind.FETCH, Variant.KNOWN, _U, "`{what}` reads from an address that is already configured")
_EGRESS = Template(EffectKind.EGRESS, gives=_U, because="`{what}` can send data to another machine or act there")
_READS = "`{what}` first reads a file of this project, which can take in others from elsewhere"
_FILE = Template(EffectKind.EXECUTE, because=_READS)
_EXECUTE = Template(EffectKind.EXECUTE, because="`{what}` runs code of this project that cannot be seen through")
_TARGET = "shell:unlisted-target"
_NAMES = "`{what}` writes files whose names no word of the command says"
_TREE = "`{what}` writes the files of a revision, whose names no word of the command says"

WORDS: dict[str, tuple[Template, ...]] = {
    "ingest": (_INGEST,),
    "fetch": (_FETCH, _INGEST),
    "fetch-known": (_KNOWN, _INGEST),
    "query": (_FETCH, _INGEST),
    "fetch-own": (_FETCH, _INGEST),
    "fetch-package": (_FETCH, _INGEST),
    "fetch-graphql": (_EGRESS, _INGEST),
    "egress": (_EGRESS,),
    "connect": (_EGRESS, _INGEST),
    "execute": (_EXECUTE,),
    "project-file": (_FILE,),
    "compose-file": (_FILE,),
    "execute-unknown": (Template(EffectKind.EXECUTE, gives=_U, because="`{what}` runs code that is not known"),),
    "install": (
        Template(EffectKind.FETCH, gives=_U, because="`{what}` downloads from a registry"),
        _INGEST,
        Template(EffectKind.EXECUTE, because="`{what}` can run code that it has downloaded"),
    ),
    "write-unnamed": (Template(EffectKind.EXECUTE, Variant.UNLISTED, because=_NAMES, rule=_TARGET),),
    "write-tree": (Template(EffectKind.EXECUTE, Variant.UNLISTED, because=_TREE, rule=_TARGET),),
    "privileged": (Template(EffectKind.EXECUTE, because="`{what}` acts with another user's rights"),),
    "read-secret": (
        Template(EffectKind.READ_SECRET, gives=Label.SECRET, because="`{what}` shows credentials or private data"),
    ),
    "clipboard": (
        Template(EffectKind.INGEST, gives=_U, because="`{what}` reads the clipboard, which anything may have filled"),
        Template(EffectKind.READ_SECRET, gives=Label.SECRET, because="`{what}` reads the clipboard"),
    ),
    "persist": (Template(EffectKind.PERSIST, because="`{what}` leaves something that will run or be trusted later"),),
    "destroy": (Template(EffectKind.DESTROY, because="`{what}` removes what cannot be brought back"),),
    "destroy-remote": (
        Template(
            EffectKind.DESTROY, Variant.REMOTE, because="`{what}` removes what is elsewhere and cannot be brought back"
        ),
    ),
    "tamper": (Template(EffectKind.TAMPER, because="`{what}` changes what keeps the agent in bounds"),),
    "self": (
        Template(EffectKind.TAMPER, Variant.SELF, because="`{what}` would change the gate or approve for a person"),
    ),
    "agent": (Template(EffectKind.EGRESS, gives=_U, because="`{what}` starts another agent that has no labels"),),
}
"""The vocabulary of ``effects:`` in the knowledge; ``docs/knowledge-effects.md`` describes it."""

NEEDS: dict[str, str] = {
    "service": "`{what}` talks to a service of this machine, which a contained command cannot reach",
    "privilege": "`{what}` needs rights that a contained command cannot get",
    "network": "`{what}` needs the network, which a contained command has not",
}
"""The vocabulary of ``needs:``: why such a command could only fail if it ran contained."""

_HIDING = frozenset({"shell:dynamic-code", "shell:unparsed", "shell:too-complex", "shell:arithmetic", "shell:subscript",
                     "shell:prompt-expansion", "shell:dynamic-command"})  # fmt: skip
"""Rules that say that the shell itself runs something whose name is not known."""
_INDIRECT = "shell:dynamic-code"
"""``eval`` and ``sh -c`` of text that is put together at run time: the shell is a runtime like any other."""


class Findings:
    """Everything found so far, in order and without repetition."""

    __slots__ = ("acts", "commands", "effects", "found", "hints", "listens", "loud", "mixed", "programs", "quiet",
                 "relative_writes")  # fmt: skip

    def __init__(self) -> None:
        self.effects: dict[Effect, None] = {}
        self.found = 0
        """How often an effect was found, repeated ones too."""
        self.programs: list[str | None] = []
        self.commands: list[Command] = []
        self.hints: dict[str, None] = {}
        self.listens: dict[str, None] = {}
        """Programs that run what is typed into them."""
        self.quiet: dict[str, None] = {}
        self.loud = False
        """Whether something gives a label without saying what its own lines look like."""
        self.acts: list[ReceiptCommand] = []
        """The commands that may answer with a receipt."""
        self.mixed = False
        """Whether anything beside them has an effect other than to run code, or goes on when the call is over."""
        self.relative_writes = 0
        """How often a file was written that is told from the folder where the shell is."""

    def add(self, effect: Effect, *, quiet: bool = False) -> None:
        """Record an effect; ``quiet`` is whether the lines of its result are described."""
        self.found += 1
        self.mixed = True
        if not (is_known(effect.what) and is_known(effect.because)):
            effect = effect._replace(what=show(effect.what), because=show(effect.because))
        self.effects[effect] = None
        if effect.gives is not None and not quiet:
            self.loud = True

    def execute(self, what: str, rule: str, because: str, *, unknown: bool = False) -> None:
        """Record that something runs code that cannot be seen through."""
        if rule in _HIDING:
            self.programs.append(None)
        gives = Label.UNTRUSTED if unknown else None
        variant = Variant.RUNTIME if rule == _INDIRECT else Variant.PLAIN
        self.add(Effect(EffectKind.EXECUTE, what, rule, because, variant, gives=gives))

    def not_read(self, text: str, why: Unparsed) -> str:
        """Record that a text was not read. Returns the shape of what it prints."""
        because = f"this is not read exactly ({why.reason} at {why.position})"
        self.execute(text, "shell:unparsed", because, unknown=True)
        if why.hint:
            self.hints[why.hint] = None
        return OPAQUE

    def too_much(self, why: str) -> str:
        """Record that the script is more than what is followed. Returns the shape of what it prints."""
        self.execute("script", "shell:too-complex", f"this cannot be followed: {why}", unknown=True)
        return OPAQUE

    def note(self, args: list[Arg], cwds: tuple[str, ...]) -> None:
        """Record a command itself, and the folders that it may run in, for rules about commands."""
        words = tuple([OPAQUE if arg.loose and OPAQUE in arg.text else arg.text for arg in args])
        self.commands.append(Command(words, cwds))

    def merge(
        self, own: list[Effect], quiet: tuple[str, ...], act: ReceiptCommand | None = None, *, apart: bool = False
    ) -> None:
        """Record the effects of one command.

        Args:
            own: Its effects.
            quiet: How the lines look that it prints of itself.
            act: The command, where it may answer with a receipt.
            apart: Whether no act was run by it, in surroundings that it chose.
        """
        mixed = self.mixed
        for effect in own:
            self.add(effect, quiet=bool(quiet))
        if act is not None:
            self.acts.append(act)
        # What only runs code of the project gives no label alone, whatever it prints; so it gives none beside an act.
        if act is not None or (apart and all(e.kind is EffectKind.EXECUTE and e.gives is None for e in own)):
            self.mixed = mixed
        for pattern in quiet:
            self.quiet[pattern] = None


def effects_for_keyword(word: str, what: str, rule: str) -> tuple[Effect, ...]:
    """The effects that a word of the knowledge stands for."""
    return tuple(
        Effect(item.kind, what, item.rule or rule, item.because.format(what=what), item.variant, gives=item.gives)
        for item in WORDS[word]
    )


def mark_as_runtime(own: list[Effect]) -> list[Effect]:
    """The effects of a language runtime: what it runs unseen can do whatever the language can."""

    def unseen(effect: Effect) -> bool:
        # A script all of which was followed is seen through.
        plain = effect.kind is EffectKind.EXECUTE and effect.variant is Variant.PLAIN
        return plain and effect.rule != "script:followed"

    return [effect._replace(variant=Variant.RUNTIME) if unseen(effect) else effect for effect in own]
