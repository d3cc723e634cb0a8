"""Texts of questions in a client's own dialog, and of the answers to them. Pure.

A client may cut a long question. Claude Code 2.1.329 shows its own heading and the question in 7 to 12 lines: the rows
of the terminal less 13. It says how many lines are missing where there are more. Above, its box shows a command or a
page's address and prompt whole, as far as the terminal has the rows. What a person cannot see they cannot answer, so
what does not fit is not asked there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lockgate.core.display_text import add_bars, indent, visible, wrap
from lockgate.core.lazy import lazy_re
from lockgate.core.model import Label, PolicyDecision, Reason, Taint, ToolCall
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.messages.calls import call_text, provenance_text
from lockgate.resources.addresses import host_of

if TYPE_CHECKING:
    from lockgate.store.rows import ApprovalRow

USUAL = (24, 80)
"""Rows and columns of a terminal of which nothing is known."""
_SMALLEST = (16, 40)
"""A terminal below which a part of the question may be out of sight."""
_REASONS = 2
_PASSED_OVER = {"description": str, "timeout": int, "run_in_background": bool}
"""Fields of Bash that change nothing about what it does, with their types. Another tool's field may be what it sends.

Source: the tool's schema of Claude Code 2.1.329.
"""
_TITLE = "Lockgate: let exactly this run once?"


class _Titles(Record):
    """The beginnings of a question."""

    long: Sequence[str]
    short: str
    """Where the question's name has to stand in the same line."""


_HOLDS_CALL = _Titles([_TITLE], "Lockgate: run exactly this once?")
_BELOW_CALL = _Titles(
    [_TITLE, "The call: all that stands in the box above, and nothing else"], "Lockgate: run the call above once?"
)
"""For a question below the client's box, which holds the call."""
_BEHIND = 24
"""Columns that the client takes behind the last line, for the name of the settings that its hook stands in."""
_MORE = "    "
"""Before what the screen has no room for in a line of ours."""
_WHOLE = 4000
"""Characters of a field above which nothing fits anyhow."""
_TOO_MANY = 1000
"""More lines than four pages of any window that is believed have."""
_MARGIN = 8
"""Columns that the client leaves free beside a line of text, at most."""
_AROUND = 11
"""Rows of the client's box beside the call, its description and the question: rules, titles and keys.

Three of them stand above the call (rule, title and description, or a blank line): what is missing is cut there first.
"""
_ABOVE = {"Bash": ("command",), "WebFetch": ("url", "prompt")}
"""Tools of which the client's box shows these fields whole, as they are, above the question.

Of an MCP tool it shows the server's own description between the two, of which nobody here knows how long it is.
"""
_HEADINGS = lazy_re(
    r"(?i)(?:^|\s|\|)(?:lockgate|why:|to:|more:|locked by|it holds private|the call:|url:|prompt:|bash command"
    r"|hook pretooluse|do you want|claude wants|settings\.json to)"
)
"""What lines of the dialog begin with: a text that holds one could pass for such a line."""
_DRAWN = lazy_re("[\u2500-\u259f\u2758-\u276f]")
"""What the client draws the dialog with."""
_BETWEEN_WORDS = lazy_re(r"[\s'\"]+")
_WIDE = lazy_re(r"[^\x00-\x7f]")


def dialog_question(
    call: ToolCall,
    decision: PolicyDecision,
    taints: Sequence[Taint],
    approval: str,
    reached: Sequence[str] = (),
    window: tuple[int, int] | None = None,
    *,
    exact: bool = True,
) -> str:
    """The question: the whole call, where it goes, what locked the session, and where more stands.

    Args:
        call: The call.
        decision: Why it is asked.
        taints: What the session has read.
        approval: The question's id.
        reached: Addresses that stand behind names in the call.
        window: Rows and columns of the client's terminal, where they are known.
        exact: Whether the call is as the client shows it, with nothing taken out.

    Returns:
        As many lines as the client shows; empty where all that must stand there takes more.
    """
    rows, columns = window or USUAL
    if rows < _SMALLEST[0] or columns < _SMALLEST[1]:
        return ""
    width = columns - _MARGIN
    heading = len(wrap(f"Hook PreToolUse:{call.tool} requires confirmation for this command:", width))
    room = min(max(rows - 13, 7), 12) - heading
    places = _places(decision.reasons, call, reached)
    where = places, _shorten_addresses(places, call)
    # Cut here and not by the client: a piece of a long line would begin as one of ours does.
    whole = add_bars("\n".join(call_lines(call)), width)
    above = _rows_above(call, width) if window and exact else 0
    room_below = min(room, rows - _AROUND - above - heading) if above else 0
    for shown, left, titles in ((whole, room, _HOLDS_CALL), ([], room_below, _BELOW_CALL)):
        for lines in _forms(titles, shown, decision.reasons, taints, where, approval, width):
            if len(lines) <= left:
                return "\n".join(lines)
    return ""


def text_width(columns: int) -> int:
    """Columns that a line of a question may have in a terminal of so many; 0 where that is too small."""
    return columns - _MARGIN if columns >= _SMALLEST[1] else 0


def lines_below(
    call: ToolCall, reasons: Sequence[Reason], taints: Sequence[Taint], reached: Sequence[str], width: int
) -> list[str]:
    """What stands below a call that is shown whole: why it is asked, where it goes, and what locked the session.

    A place that is the whole value of a field stands in the call already.
    """
    fields = list(call.tool_input.values())
    places = [place for place in _places(reasons, call, reached) if place not in fields]
    return _pieces([*_because(reasons, width), *_list_receivers(places), *_sources(taints, width)], width)


def _forms(
    titles: _Titles,
    call_lines: Sequence[str],
    reasons: Sequence[Reason],
    taints: Sequence[Taint],
    where: tuple[Sequence[str], Sequence[str]],
    approval: str,
    width: int,
) -> Iterator[Sequence[str]]:
    """The question in fewer and fewer lines: the call and where it goes are whole in each."""
    more, to = f"more: lockgate question {approval}", _list_receivers(where[0])
    for short in (0, width):
        said = [*_because(reasons, short), *to, *_sources(taints, short), more]
        yield [*titles.long, *call_lines, *_pieces(said, width)]
    title = f"{titles.short} {more}"
    if len(title) <= width:
        said = [*to, *_sources(taints, width), *_because(reasons, width - _BEHIND)]
        yield [title, *call_lines, *_pieces(said, width)]
        if sources := _sources(taints, width - _BEHIND):
            # The call, where it goes and what locked the session are what a person answers by.
            yield [title, *call_lines, *_pieces([*to, *sources], width)]
            # An address of several lines that stands in the call is said by its host.
            yield [title, *call_lines, *_pieces([*_list_receivers(where[1]), *sources], width)]


def _list_receivers(places: Sequence[str]) -> list[str]:
    return [f"To: {', '.join(places)}"] if places else []


def _shorten_addresses(places: Sequence[str], call: ToolCall) -> list[str]:
    """Where a command goes, with the host alone of each address that stands in it as a word, as it is.

    Nothing of it is hidden then: the person reads the address in the call, and here which host it is.
    """
    command = call.tool_input.get("command")
    if call.tool != "Bash" or not isinstance(command, str) or not _is_plain(command):
        return list(places)
    words = frozenset(_BETWEEN_WORDS.split(command))
    hosts = {place: host_of(place) for place in places if place in words and "://" in place}
    named = dict.fromkeys(f"{host} (in the call)" if (host := hosts.get(place)) else place for place in places)
    return list(named)


def _pieces(lines: Sequence[str], width: int) -> list[str]:
    return [piece for line in lines for piece in indent(line, width, "", _MORE)]


def _rows_above(call: ToolCall, width: int) -> int:
    """Rows that the client's own box takes to show the call, where it shows it whole and as it is; else none."""
    fields = {name: value for name, value in call.tool_input.items() if not _is_passed_over(call.tool, name, value)}
    described = call.tool_input.get("description", "") if call.tool == "Bash" else _page_text(fields)
    if not _shows_alone(fields, call.tool) or not _is_plain(described):
        return 0
    shown = [f"{name}: {text}" if len(fields) > 1 else text for name, text in fields.items()]
    lines = [_WIDE.sub("xx", line) for text in (*shown, described) for line in text.split("\n")]
    return sum(len(wrap(line, width)) for line in lines)


def _shows_alone(fields: Mapping[str, object], tool: str) -> bool:
    """Whether a call has the fields that the client's box shows, each as it is, and none of them passes for another."""
    names = tuple(sorted(_ABOVE.get(tool, ("",))))
    return tuple(sorted(fields)) == names and all(map(_is_plain, fields.values()))


def _page_text(fields: Mapping[str, object]) -> str:
    """What the client says of a page: no more than its address."""
    return f"to fetch content from {fields.get('url', '')}"


def _is_plain(text: object) -> bool:
    """Whether the client shows a text as it is, and no part of it passes for a part of the dialog."""
    if not isinstance(text, str) or len(text) > _WHOLE or _HEADINGS.search(text) or _DRAWN.search(text):
        return False
    return all(visible(line, 10 * _WHOLE) == line for line in text.split("\n"))


def _sources(taints: Sequence[Taint], short: int) -> list[str]:
    """What gave the session its labels, each in one line of ``short`` columns at most where that is not 0."""
    lines = []
    for label, said in ((Label.UNTRUSTED, "Locked by"), (Label.SECRET, "It holds private data")):
        source = provenance_text(taints, label, 1)
        lines += [f"{said}: {_cut(source, short and short - len(said) - 2)}"] if source else []
    return lines


def _cut(text: str, short: int) -> str:
    return visible(text, short) if short else text


def _because(reasons: Sequence[Reason], short: int) -> list[str]:
    found = list(
        dict.fromkeys(f"{visible(each.effect.because, 120)} [{visible(each.effect.rule, 80)}]" for each in reasons)
    )
    if short:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return [f"Why: {visible(line, short - 5 - len(more))}{more}" for line in found[:1]]
    more = f"and {len(found) - _REASONS} more reasons" if len(found) > _REASONS else ""
    return [f"Why: {line}" for line in found[:_REASONS]] + ([more] if more else [])


def call_lines(call: ToolCall, most: int = _WHOLE) -> list[str]:
    """The whole call: nothing of it is left out, and a line break is a line break.

    Args:
        call: The call.
        most: Characters of a field above which nothing fits anyhow.
    """
    fields = {name: value for name, value in call.tool_input.items() if not _is_passed_over(call.tool, name, value)}
    if list(fields) == ["command"] and isinstance(fields["command"], str):
        return _lines(f"{call.tool}: {fields['command']}", most)
    shown = (_lines(f"{name}: {value}", most) for name, value in fields.items())
    return [visible(call.tool, 200), *(line for lines in shown for line in lines)]


def _is_passed_over(tool: str, name: str, value: object) -> bool:
    return tool == "Bash" and type(value) is _PASSED_OVER.get(name)


def _lines(text: str, most: int) -> list[str]:
    # Much longer than what fits: it need not be made safe to show first.
    return [visible(line, 10 * most) for line in text.split("\n")] if len(text) < most else ["x"] * _TOO_MANY


def _places(reasons: Sequence[Reason], call: ToolCall, reached: Sequence[str]) -> list[str]:
    """Where it goes, as far as that does not stand in the call already."""
    effects = [reason.effect for reason in reasons]
    own = [effect.what for effect in effects if effect.rule != f"program:{effect.what.replace(' ', '/')}"]
    known = (call.tool, _address(call))
    found = dict.fromkeys([*reached, *(what for what in own if what not in known)])
    return [visible(each, 10 * _WHOLE) for each in found]


def _address(call: ToolCall) -> str:
    """The address of a page, where the call shows it in one line and nothing else in the call passes for it."""
    address = call.tool_input.get("url")
    if call.tool != "WebFetch" or not _shows_alone(call.tool_input, call.tool):
        return ""
    return address if isinstance(address, str) and "\n" not in address else ""


def note_of_unasked(because: str) -> str:
    """The text that says why nobody was asked."""
    return f"Nobody was asked: {visible(because, 400)}."


def note_of_changed_call(call: ToolCall, approval: str) -> str:
    """The text about another call that ran than the one that a person was asked about."""
    return (
        f"Lockgate: another call ran than the one that a person was asked about ({call_text(call, 200)}): something "
        f"has changed its input. This session's window asks nothing more (lockgate question {visible(approval, 40)})."
    )


def words(row: ApprovalRow) -> str:
    """The text that tells the agent what the person has said with a no."""
    tool = visible(str(row.about.get("tool", "")), 80)
    return f"Lockgate: a person said no to a call of {tool} that you made: {visible(row.reason, 400)}"
