"""The vocabulary of the whole product, as frozen types.

Nothing here does I/O, and of our other modules only ``record`` is imported. The types are records and enumerations,
not dataclasses: this module is imported by every hook process, where a dataclass costs several times as much to define.

Vocabulary (see ``docs/concepts.md``): a *tool call* is made by a *subject*; a subject carries *labels* for what it was
exposed to; a call has *effects*; effects, labels and a profile's table give a *verdict*.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


OBJECT = (dict, Mapping)
"""What a JSON object is in a tool's input or result, for ``isinstance``. It is the last to be asked for, as to ask an
abstract class takes far longer than all others together: for what is no object too."""
ARRAY = (list, tuple)
"""What a JSON array is. To write ``list | tuple`` for ``isinstance`` would make a type each time."""


class Label(StrEnum):
    """Something that a subject has been exposed to."""

    UNTRUSTED = "untrusted"
    """Integrity: text that somebody else wrote, and that may carry instructions."""
    SECRET = "secret"
    """Confidentiality: data that must not leave."""


class LabelState(StrEnum):
    """The column of a profile's table."""

    CLEAN = "clean"
    UNTRUSTED = "untrusted"
    SECRET = "secret"
    BOTH = "both"

    @classmethod
    def of(cls, labels: frozenset[Label]) -> LabelState:
        """The column for a set of labels."""
        if Label.UNTRUSTED in labels:
            return cls.BOTH if Label.SECRET in labels else cls.UNTRUSTED
        return cls.SECRET if Label.SECRET in labels else cls.CLEAN


class EffectKind(StrEnum):
    """A kind of thing that a call can do, as far as the analysis can prove. A call with no effect is *local*."""

    INGEST = "ingest"
    """Brings text into the context that somebody else may have written."""
    READ_SECRET = "read_secret"
    """Brings credentials or private data into the context."""
    FETCH = "fetch"
    """Reads an address or a search and writes nothing: the address itself can carry data out."""
    EGRESS = "egress"
    """Can carry data out, or acts outside this machine."""
    EXECUTE = "execute"
    """Runs code that cannot be seen through."""
    PERSIST = "persist"
    """Writes where a later session or a person will execute or trust it."""
    DESTROY = "destroy"
    """Removes or overwrites what cannot be brought back."""
    TAMPER = "tamper"
    """Touches what keeps the agent in bounds: agent settings, hooks, the gate itself."""


REACHING = frozenset({EffectKind.EGRESS, EffectKind.FETCH})
"""Kinds of effects that talk to somebody else, and can carry something out."""

PAGE_OPENED = "mcp:page-opened"
"""The rule of opening a page in a browser that may be logged in to it."""
OWN_PACKAGE = "registry:own-package"
"""The rule of a question to a registry about a package that the project's own files name."""
SPAWNING_TOOLS = frozenset({"Agent", "Task"})
"""Tools that start a sub-agent; ``subagent_type`` in their input names its type."""
_TODAY = {"Task": "Agent"}
"""Claude Code's tool for sub-agents was called ``Task`` when Lockbox and the first guardrail hooks were written."""
_BEFORE = {today: before for before, today in _TODAY.items()}


def tool_names(tool: str) -> tuple[str, ...]:
    """All names that a tool goes by, in Claude Code of today or of before; its own name first."""
    other = _TODAY.get(tool) or _BEFORE.get(tool)
    return (tool, other) if other else (tool,)


def current_tool_name(tool: str) -> str:
    """The name that Claude Code gives a tool today."""
    return _TODAY.get(tool, tool)


class Variant(StrEnum):
    """The row of the table that an effect reads, where its kind alone does not say."""

    PLAIN = ""
    KNOWN = "known"
    """A fetch of an address that was seen whole before, or of a trusted domain: following it carries nothing out."""
    SEARCH = "search"
    """A fetch that sends a query to a search provider and nobody else."""
    SCRIPT = "script"
    """Found in a file of the project that the call runs. A sandbox holds it, so it reads the row ``execute``."""
    RUNTIME = "runtime"
    """Code for a language runtime that cannot be seen through: it can do whatever the language can.

    A table without the row ``execute_runtime`` decides it by ``execute``.
    """
    UNLISTED = "unlisted"
    """A command of which no table says all: an option, a variable or the name of a file that it writes is not known.

    A table without the row ``execute_unlisted`` decides it by ``execute``.
    """
    PACKAGES = "packages"
    """A fetch from package indexes of what the files name that were committed before the session began.

    A relay holds it to that, so it may be contained.
    A table without the row ``fetch_packages`` decides it by ``fetch``.
    """
    INSTALLED = "installed"
    """Code that may load packages which a session with untrusted text has installed: contained in every session.

    A table without the row ``execute_installed`` decides it by ``execute``.
    """
    SECRET = "secret"
    """Sending a secret: to a place that nobody has declared it is asked about in every session.

    A table without the row ``egress_secret`` decides it by ``egress``, and asks at least.
    """
    SHELL = "shell"
    """A shell, or another interpreter, whose input comes from the network: asked about in every session.

    A table without the row ``egress_shell`` decides it by ``egress``, and asks at least.
    """
    DOWNLOAD = "download"
    """Running what was downloaded from an address that no person has given: asked about in every session.

    A table without the row ``execute_download`` decides it by ``execute``, and asks at least.
    """
    REMOTE = "remote"
    """Removing what is on another machine. A table without the row ``destroy_remote`` decides it by ``destroy``."""
    SELF = "self"
    """Tampering with the gate, or approving oneself: denied to every agent, always."""


class Category(StrEnum):
    """Lockbox's view of a call's effects."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    ACTING = "acting"
    UNSAFE_ACTING = "unsafe_acting"


class Verdict(IntEnum):
    """The verdict on a call. Verdicts are ordered: of several findings the strictest wins."""

    ALLOW = 0
    CONTAIN = 1
    JUDGE = 2
    ASK = 3
    DENY = 4

    word: str
    """The verdict in lower case, as tables and JSON spell it."""

    def __init__(self, _: int) -> None:
        self.word = self._name_.lower()


class Subject(Record):
    """The maker of a call: one agent in one session. The main agent's ``agent`` is empty."""

    session: str
    agent: str = ""


class ToolCall(Record):
    """A request of an agent to run a tool."""

    tool: str
    """The tool's name in the client's own vocabulary (``Bash``, ``mcp__github__get_issue``)."""
    tool_input: Mapping[str, Any]
    cwd: str = ""
    """Absolute working folder of the call, empty where it is not known."""
    call_id: str = ""
    """The client's id of this call, empty where it gives none."""

    @property
    def spawns(self) -> str:
        """The type of the sub-agent that the call starts; empty where it starts none, or does not say which."""
        kind = self.tool_input.get("subagent_type", "") if self.tool in SPAWNING_TOOLS else ""
        return kind if isinstance(kind, str) else ""


class Effect(Record):
    """Something that a call can do, with the evidence for it."""

    kind: EffectKind
    what: str
    """The object: a host, a path, a command. May hold untrusted text: escape it before it is shown."""
    rule: str
    """Which rule found it, as ``family:name`` (``program:git/push``, ``place:secret/dotenv``, ``shell:dev-tcp``)."""
    because: str
    """One sentence for a person: lower case, no final period."""
    variant: Variant = Variant.PLAIN
    address: str = ""
    """For a fetch: the whole, normalised address where it is static; empty where it is composed at run time."""
    gives: Label | None = None
    """The label that the call's result gives to its subject."""
    changed: float | None = None
    """For what was found in a script file: when that was last changed, in seconds since the epoch."""
    uncontainable: str = ""
    """What it needs that no contained command has, in words; empty where it may work contained."""
    deployment: str = ""
    """Where it hands a secret to a provider that the person is logged in to: digest of who gets what from where."""

    @property
    def row(self) -> str:
        """The row of a profile's table that decides this effect."""
        if self.variant is Variant.PLAIN:
            return str(self.kind)
        if self.variant is Variant.SCRIPT:
            return str(EffectKind.EXECUTE)
        return f"{self.kind}_{self.variant}"

    def map_texts(self, clean: Callable[[str], str]) -> Effect:
        """The effect with each of its texts put through a function that takes out what must not be shown."""
        return self._replace(what=clean(self.what), because=clean(self.because), address=clean(self.address))


class Flow(Record):
    """A secret that a program which sends gets to see: evidence for a person. What leaves is an effect of its own."""

    source: str
    """Where the secret comes from: a file as it is named, ``$VARIABLE``, or the program that shows it."""
    through: tuple[str, ...]
    """The programs that it passes, in order."""
    sink: str
    """The program and its option, or the socket."""
    certain: bool
    """Whether it gets there if all that is written runs; else it may."""

    @property
    def sentence(self) -> str:
        """The flow for a person: ``.env`` reaches ``curl -d`` through ``base64``."""
        passed = " and ".join(f"`{name}`" for name in self.through)
        verb = "reaches" if self.certain else "may reach"
        return f"`{self.source}` {verb} `{self.sink}`" + (f" through {passed}" if passed else "")


class Origin(Record):
    """The source of a text or a file's content. It matters wherever the content is copied to."""

    text: str
    """The secret, as :class:`Flow` names it; empty for what is none."""
    through: tuple[str, ...] = ()
    """The programs that it has passed."""
    picked: str = ""
    """The name of the one value of a file that is left of it."""
    only_named: bool = False
    """Whether nothing but the file's name says that it holds a secret: ``credentials.json`` of a project."""
    origin: str = ""
    """For code from the network ``download`` or ``connection``, with where it comes from and the whole address."""
    what: str = ""
    address: str = ""


class Left(Record):
    """A file that a call writes, and what lies in it afterwards."""

    path: str
    """Absolute."""
    origins: tuple[Origin, ...] = ()
    """Empty where it held something that matters, and now holds nothing of that."""


class Command(Record):
    """A simple command that could run, wherever it stands: in a pipe, a loop, a script, behind ``xargs``."""

    words: tuple[str, ...]
    """The program and its words after expansion. ``\\0`` stands for text that could be anything. ``\\2`` stands
    for text that is not known but is neither an option nor code, ``\\1`` for a number or the name of a file."""
    folders: tuple[str, ...] = ()
    """In which folders it could run; an empty one is not known."""


class Analysis(Record):
    """Everything that a call can do."""

    effects: tuple[Effect, ...] = ()
    programs: tuple[str | None, ...] = ()
    """Every program that could run, in order of appearance; ``None`` where the word is dynamic."""
    hints: tuple[str, ...] = ()
    """What the agent could write differently to be understood."""
    quiet: tuple[str, ...] = ()
    """Full-line patterns. Where each line of the call's result matches one, the result gives no label.

    For sinks whose answer is made by the tool itself (``git push``). A plain ingest has none.
    """
    echoes: bool = True
    """Whether the agent can shape the call's result, so that an address in it proves nothing."""
    flows: tuple[Flow, ...] = ()
    """The secrets that reach what sends, as far as that is seen. The reasons of these effects name them too."""
    commands: tuple[Command, ...] = ()
    """Every simple command that could run, in the order in which they are met, again in each round of a loop.

    What a command runs stands before it.
    """
    listens: tuple[str, ...] = ()
    """Programs that run what is typed into them: their standard input is that of the whole command."""
    keeps: frozenset[Label] = frozenset()
    """Labels of what it may leave in a file whose later reading gives none: they stay where its result is empty."""
    left: tuple[Left, ...] = ()
    """The files that hold something afterwards whose origin matters, or no longer do."""
    receipt: tuple[str, ...] = ()
    """Patterns of the lines that report a failure, where all that the call answers is a receipt; else empty.

    A short result of a receipt gives no label, unless one of its lines matches: the words are those of the programs and
    of servers that a person or the shipped tables vouch for.
    """
    written: tuple[str, ...] = ()
    """The files that the call writes, or may write, as far as it names them."""
    writes: bool = False
    """Whether a shell command names a file that it writes, removes or moves, or may write some that it does not name.

    Programs that write by themselves (``git commit``) do not show here: see ``analysis.looking``.
    """

    @property
    def gives(self) -> frozenset[Label]:
        """The labels that the call's result gives to its subject."""
        if not self.effects:
            return frozenset()
        return frozenset(effect.gives for effect in self.effects if effect.gives is not None)

    @property
    def category(self) -> Category:
        """Lockbox's category of the call."""
        kinds = {effect.kind for effect in self.effects}
        reads = bool(kinds & _READS)
        acts = bool(kinds & _ACTS)
        if acts:
            return Category.UNSAFE_ACTING if reads else Category.ACTING
        return Category.UNSAFE if reads else Category.SAFE


_READS = frozenset({EffectKind.INGEST, EffectKind.FETCH})
_ACTS = frozenset(
    {EffectKind.EGRESS, EffectKind.EXECUTE, EffectKind.PERSIST, EffectKind.DESTROY, EffectKind.TAMPER},
)


class TaintState(StrEnum):
    """Whether the result that gives a label has arrived."""

    PENDING = "pending"
    CONFIRMED = "confirmed"


class Taint(Record):
    """A label with its provenance."""

    label: Label
    source: str
    """Where it came from, for a person: ``WebFetch: https://example.com/``. May hold untrusted text."""
    tool: str
    call_id: str
    at: float
    """Seconds since the epoch."""
    state: TaintState = TaintState.CONFIRMED
    origin: str = ""
    """The agent or session it was inherited from, empty where the subject met it itself."""


class Reason(Record):
    """The reason for a verdict: one effect, and the cell of the table that decided it."""

    effect: Effect
    row: str
    column: LabelState
    verdict: Verdict


class Tier(StrEnum):
    """A step of the cascade. The steps are taken in this order, and the first that decides ends it."""

    LABELS = "labels"
    """Nothing was read that matters: the call is let run."""
    LOCAL = "local"
    """The call has no effect: it can neither reach anybody nor change what is trusted."""
    TABLE = "table"
    """The profile's table says allow, ask or deny."""
    CONTAINMENT = "containment"
    """The call is run where it can reach nobody."""
    JUDGE = "judge"
    """A model was asked about the call."""
    PERSON = "person"
    """A person was asked, and answered or let the time pass."""
    PATTERNS = "patterns"
    """The pattern library objects, whatever the cascade says."""
    RULES = "rules"
    """A built-in rule set or a plugin objects, whatever the cascade says."""


class PolicyDecision(Record):
    """The verdict on one call, with every reason that has this verdict."""

    verdict: Verdict
    column: LabelState
    reasons: tuple[Reason, ...] = ()
    profile: str = ""
    tier: Tier = Tier.TABLE
    """Which step decided."""
