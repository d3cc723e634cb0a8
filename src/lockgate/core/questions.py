"""Questions that a decision may wait for. The gate yields them, and its driver fetches the answers.

The gate does no I/O of its own between two transactions. Where it needs a rule's, a model's or a person's word, it
yields one of the questions below and is sent the answer. A hook answers them one after another and blocks; a program
that uses the gate in-process awaits them. See :meth:`lockgate.gate.Monitor.deliberate`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from lockgate.core.events import Answer, Context
from lockgate.core.model import Analysis, Label, PolicyDecision, Taint, ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any


CODE = frozenset("$`;|&<>()\\\n\r")
"""Characters that make a shell's word more than a word. What is masked and holds none of them hides no code."""


NO_DIALOG = "this client is not known to show a question whole to a person, and to nobody else"
"""Why nothing is asked in a client of which that was not observed."""


class Objection(Record):
    """An objection of a built-in rule set or a plugin to a call. It can only make a decision stricter."""

    rule: str
    """The name of the objector, as ``rules:git/force-push`` or ``plugin:name``."""
    reason: str
    """One sentence for agent and person. May hold untrusted text: escape it before it is shown."""
    verdict: Verdict = Verdict.DENY
    """``ASK`` or ``DENY``."""


class GitRules(Record):
    """The value of the key ``git`` in one configuration."""

    rules: Mapping[str, Any]
    layer: str
    """The name of the layer that says it."""


class PluginEntry(Record):
    """An entry of the key ``plugins``."""

    text: str
    """The name of an entry point, or a file."""
    base: str = ""
    """The folder that a relative path starts from; empty where there is none."""


class RuleSets(Record):
    """The rule sets and plugins that a configuration has asked beside its tables."""

    git: tuple[GitRules, ...] = ()
    """Each can object."""
    plugins: tuple[PluginEntry, ...] = ()
    """In the order in which they are asked."""


class RulesQuestion(Record):
    """Has a rule or a plugin anything against this call? The answer is a sequence of :class:`Objection`."""

    context: Context
    call: ToolCall
    analysis: Analysis = Analysis()
    """What the call can do, and which commands it runs."""
    sets: RuleSets = RuleSets()


class ResultQuestion(Record):
    """Has a plugin anything against a result? The answer is a sequence of :class:`Objection`: each withholds it.

    With objects it asks a service whose words it is instead. Then the answer is ``None``, and the store knows it.
    """

    context: Context
    call: ToolCall
    text: str
    """All text of the result, as the model would read it."""
    sets: RuleSets = RuleSets()
    objects: tuple[Any, ...] = ()
    """What the call reads there: :class:`lockgate.gate.authors.objects.ServiceObject`."""
    trust: Any = None
    """The trusted authors: :class:`lockgate.gate.authors.lookup.Trust`."""


class JudgeQuestion(Record):
    """Is this call suspicious? The answer is an :class:`Opinion`."""

    context: Context
    call: ToolCall
    """The exact call. Values that the pattern library found are masked in it: the judge is somebody else's machine."""
    digest: str
    """SHA-256 of the exact call, hexadecimal."""
    labels: frozenset[Label]
    decision: PolicyDecision
    """What the table says, with the effects that it says it for."""
    taints: Sequence[Taint]
    """Where the labels come from. Their texts are untrusted."""
    options: Mapping[str, Any] | None = None
    """Which judge, and how: the configuration's ``judge``, as the file says it."""
    obscured: bool = False
    """Whether a masked value could be more than a value: then nobody can judge the call by what is left of it."""


class Opinion(Record):
    """The judge's opinion on one call in one state."""

    flagged: bool
    reason: str
    """In the judge's words. Untrusted: a model wrote it that read untrusted text."""
    failed: str = ""
    """Why it could not judge, empty where it could. Then the call counts as flagged."""
    model: str = ""
    ms: float = 0.0
    """Milliseconds until the answer."""
    cached: bool = False
    """Whether the same question was answered before."""
    tokens: tuple[int, int] = (0, 0)
    """Tokens read and written, zero where the endpoint does not say."""


class PersonQuestion(Record):
    """A person has to decide. The answer is ``None`` once one has, or the time is over: the store knows which."""

    context: Context
    approval: str
    """The id that a person types."""
    expires_at: float
    """Seconds since the epoch."""
    options: Mapping[str, Any] | None = None
    """How a person is told of it: the configuration's ``approvals``, as the file says it."""


class TurnQuestion(Record):
    """Asks which calls the model made in the same message as this one. The answer is a frozen set of ids.

    Calls of one message were all written before the result of any of them could be read.
    """

    context: Context
    call_id: str
    among: Mapping[str, float]
    """The calls that matter; each with when it was let run, in seconds since the epoch."""


Need = RulesQuestion | ResultQuestion | JudgeQuestion | PersonQuestion | TurnQuestion
Deliberation = Generator[Need, "Any", Answer]
"""Yields what it needs, is sent the answer of each, and returns the gate's."""
