"""Texts of questions that are put by the client's own tool for questions, ``AskUserQuestion`` of Claude Code. Pure.

Observed with 2.1.197 and 2.1.329, in windows of 24 and 40 rows and five permission modes: the tool shows the text of a
question as it stands, line by line, above the answers. A window that is too small loses its first rows. The result
holds the questions that were shown, and each answer by the text of its question. Of several questions each is shown
alone, with as many rows; a digit goes on to the next one. Behind the last the person submits or cancels all answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lockgate.core.display_text import add_bars, wrap
from lockgate.core.lazy import lazy_re
from lockgate.core.model import OBJECT, PolicyDecision, Taint, ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.messages import dialog

if TYPE_CHECKING:
    from typing import Any

_AROUND = 11
"""Rows of the dialog beside the question: rules, its heading, blank lines, four answers and the keys."""
_TITLE = "Lockgate: let exactly this run once?"
_YES, _NO, _NEXT = "Yes, once", "No", "Next page"
_MOST_PAGES = 4
"""Questions that one call of the tool may have."""
_PAGED = 60
"""Columns in which the client has room for the names of so many pages."""
_WHOLE = 20_000
"""Characters of a field above which nothing fits anyhow."""
_MORE = "more: lockgate question "
_REQUEST = "Lockgate question "
_ID = lazy_re(r"[a-z0-9]{10}")
GO_ON = "Lockgate: the person said yes. Make exactly the same call again now: it is let run once."


def question_pages(
    call: ToolCall,
    decision: PolicyDecision,
    taints: Sequence[Taint],
    reached: Sequence[str],
    window: tuple[int, int],
) -> list[str]:
    """The question without its last line, which names it: the whole call, where it goes, and what locked the session.

    Args:
        call: The call.
        decision: Why it is asked.
        taints: What the session has read.
        reached: Addresses that stand behind names in the call.
        window: Rows and columns of the client's terminal.

    Returns:
        As few pages as it takes, each with as many lines as the client shows. All that is not the call stands on the
        last one, where the person says yes. None where all of it takes more than one call of the tool has.
    """
    rows, columns = window
    width = dialog.text_width(columns)
    if not width:
        return []
    shown = add_bars("\n".join(dialog.call_lines(call, _WHOLE)), width)
    below = dialog.lines_below(call, decision.reasons, taints, reached, width)
    for count in range(1, 1 + (_MOST_PAGES if columns >= _PAGED else 1)):
        room = rows - _AROUND - len(wrap(_title(count, count), width))
        last = [*shown[(count - 1) * room :], *below]
        if len(last) + 1 <= room:
            pages = [*(shown[number * room : (number + 1) * room] for number in range(count - 1)), last]
            return ["\n".join([_title(number, count), *lines]) for number, lines in enumerate(pages, 1)]
    return []


def _title(number: int, count: int) -> str:
    return _TITLE if count == 1 else f"{_TITLE} Page {number} of {count}"


# ---------------------------------------------------------------- inputs of the tool
def request(approval: str) -> Mapping[str, Any]:
    """The input by which an agent has a question put."""
    return _input(f"{_REQUEST}{approval}")


def request_text(approval: str) -> str:
    """The same as JSON."""
    return json.dumps(request(approval))


def question_input(pages: Sequence[str], approval: str) -> Mapping[str, Any]:
    """The input that shows the question to the person."""
    return _input(*pages[:-1], f"{pages[-1]}\n{_MORE}{approval}")


def _input(*texts: str) -> Mapping[str, Any]:
    return {"questions": [_question(text, number, len(texts)) for number, text in enumerate(texts, 1)]}


def _question(text: str, number: int, count: int) -> Mapping[str, Any]:
    # No comes first: it is what the line that is marked at the beginning says. A description takes a row.
    options = [{"label": label, "description": ""} for label in (_NO, _YES if number == count else _NEXT)]
    header = "Lockgate" if count == 1 else f"{number} of {count}"
    return {"question": text, "header": header, "multiSelect": False, "options": options}


def find_request(tool_input: Mapping[str, Any]) -> str:
    """The id of the question that an agent wants to have put; empty for a question of its own."""
    return next((found for text in _texts(tool_input) if (found := _id_behind(_REQUEST, text.strip()))), "")


def find_shown(tool_input: Mapping[str, Any]) -> str:
    """The id of the question that is shown to the person, in one page or in some; empty for an agent's own."""
    texts = _texts(tool_input)
    return _id_behind(_MORE, texts[-1].rpartition("\n")[2]) if texts else ""


def _texts(tool_input: Mapping[str, Any]) -> list[str]:
    asked = tool_input.get("questions")
    found = [each.get("question") for each in asked if isinstance(each, OBJECT)] if isinstance(asked, list) else []
    return [text for text in found if isinstance(text, str)]


def _id_behind(beginning: str, text: str) -> str:
    name = text.removeprefix(beginning)
    return name if name != text and _ID.fullmatch(name) else ""


def read_answer(shown: Mapping[str, Any], tool_input: Mapping[str, Any], result: Mapping[str, Any]) -> bool | None:
    """What the person has said; ``None`` where it is not plain that they were shown the question and chose an answer.

    Args:
        shown: What the gate had put there.
        tool_input: What the client says that it has shown.
        result: What it says that came of it.
    """
    asked = shown["questions"]
    answers = result.get("answers")
    if tool_input.get("questions") != asked or result.get("questions") != asked or not isinstance(answers, OBJECT):
        return None
    wanted = {question["question"]: question["options"][-1]["label"] for question in asked}
    if not answers or not answers.keys() <= wanted.keys():
        return None
    if _NO in answers.values():
        return False
    return True if dict(answers) == wanted else None


def request_note(approval: str, because: str) -> str:
    """The text that tells an agent how to have its person asked."""
    return (
        f"A person sits before the client and can decide about this call ({because}). Ask them now: call "
        f"AskUserQuestion with exactly this input, and Lockgate puts its own question there: {request_text(approval)} "
        'If the answer is "Yes, once", make exactly this call again. After any other answer do not.'
    )
