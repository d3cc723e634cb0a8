"""Writes an issue about a wrong verdict: what a maintainer needs, and nothing private."""

from __future__ import annotations

import getpass
import json
import platform
import re
from collections.abc import Mapping
from typing import Any

from lockgate.cli.explain.explanation import Explanation, find_lacking
from lockgate.core.display_text import visible, visible_block
from lockgate.core.version import __version__
from lockgate.patterns.redaction.credentials import redact
from lockgate.system.folders import folders

_LONGEST = 4000


def text(explanation: Explanation, expected: str | None) -> str:
    """Markdown, ready to be pasted.

    Args:
        explanation: The call and its verdicts.
        expected: The verdict that the person expected, if they say.
    """
    analysis, call = explanation.analysis, explanation.call
    what = explanation.command or json.dumps(dict(call.tool_input), ensure_ascii=False)
    verdicts = ", ".join(f"{state.value} {verdict.word}" for state, verdict in explanation.verdicts.items())
    profiles = ", ".join(dict.fromkeys(policy.profile.name for policy in explanation.policies))
    lacking = find_lacking(explanation)
    lines = [
        f"**Call** (`{_public(call.tool, 100)}`, credentials and folders taken out; please read it once more)",
        "",
        *_fence(_public(what, _LONGEST)),
        "",
        f"**Verdicts** under `{profiles}`: {verdicts}",
        f"**Expected**: {expected or '(which verdict, in which state, and why?)'}",
        "",
        "**Effects**",
        "",
        *(f"- `{effect.row}` `{effect.rule}`: {_public(effect.because, 300)}" for effect in analysis.effects),
        *(["- none"] if not analysis.effects else []),
        "",
        f"**Programs**: {', '.join('(dynamic)' if name is None else _public(name, 60) for name in analysis.programs)}",
        f"**Lockgate** {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
    ]
    told = ", ".join(f"{state.value} {verdict.word}" for state, verdict in explanation.here(lacking).items())
    lines += [f"**This host cannot {verdict.word}**: {_public(why, 300)} ({told})" for verdict, why in lacking.items()]
    return "\n".join(lines)


def describe_record(body: Mapping[str, Any]) -> str:
    """What was decided when it happened, by its record in the audit. Markdown."""
    reasons = [each for each in body.get("reasons") or () if isinstance(each, dict)]
    lines = [
        f"**Decided then**: {_public(str(body.get('verdict')), 20)}, "
        f"in the state {_public(str(body.get('column')), 20)}, under `{_public(str(body.get('profile')), 60)}`",
        *(
            f"- `{_public(str(each.get('row')), 60)}` `{_public(str(each.get('rule')), 100)}`: "
            f"{_public(str(each.get('because')), 300)}"
            for each in reasons
        ),
    ]
    return "\n".join(lines)


def _fence(block: str) -> list[str]:
    """A block of code; the fence is longer than any inside it."""
    longest = max((len(run) for run in re.findall("`+", block)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}sh", block, fence]


def _public(content: str, limit: int) -> str:
    """A text without credentials and without the person's own folder and name."""
    content = redact(content)
    home = folders().home.rstrip("/")
    if home:
        content = content.replace(home, "~")
    content = re.sub(r"/(home|Users)/[^/\s'\"]+", r"/\1/USER", content)
    if len(name := _person()) > 2:
        content = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "USER", content)
    return visible_block(content, limit) if "\n" in content else visible(content, limit)


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
