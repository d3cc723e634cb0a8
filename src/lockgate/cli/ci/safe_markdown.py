"""Rewrites an agent's text as Markdown that can only be read, with links into its own repository alone.

The text is parsed, and only what a table of this module names is written again. Each character that could mean
something to Markdown or HTML is written by its number. So another parser than ours finds the same. Links and images
stay only where they lead into the repository itself: an address elsewhere could carry data there, and a link to another
repository's issue leaves a mark in it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from lockgate.core.display_text import visible
from lockgate.core.lazy import lazy_re

_ADDRESS = lazy_re(r"(?i)(?:[a-z][a-z0-9+.-]*:(?=[/\\]{2})|www\.)\S*")
_PATH = lazy_re(r"(?:/[A-Za-z0-9_.-]+)*/?(?:#[A-Za-z0-9_-]{0,100})?")
_NUMBER = lazy_re(r"[0-9]+")
_TRAILING = ".,;:!?)"
_GONE = "(link removed)"
_BREAK = "&#8203;"
"""A space without width: the service finds mentions and references in the text that a reader sees, after Markdown."""
_LANGUAGES = frozenset(
    {"bash", "c", "cpp", "csharp", "css", "diff", "go", "html", "ini", "java", "javascript", "js", "json", "kotlin"}
    | {"php", "py", "python", "ruby", "rust", "sh", "sql", "swift", "text", "toml", "ts", "typescript", "xml", "yaml"}
)
"""Languages of code blocks that stay. The service draws others, such as mermaid, as pictures with links."""


class PostingPlace(NamedTuple):
    """The place where a text is posted."""

    repository: str
    """The repository's address, without a slash at its end: ``https://github.com/owner/tool``."""
    number: int
    """The issue or pull request, the only one to which a text may refer by its number."""


def rewritten(text: str, place: PostingPlace) -> str:
    """A text as Markdown that mentions nobody, loads nothing and links to the repository alone.

    Args:
        text: Any text.
        place: Where it is posted.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    return "\n".join(_Writer(place).blocks(SyntaxTreeNode(parser.parse(text)).children)).strip("\n")


class _Writer:
    def __init__(self, place: PostingPlace) -> None:
        self._place = place

    # ---------------------------------------------------------------- blocks
    def blocks(self, nodes: Sequence[SyntaxTreeNode]) -> list[str]:
        lines: list[str] = []
        for node in nodes:
            lines += [*([""] if lines else []), *self._block(node)]
        return lines

    def _block(self, node: SyntaxTreeNode) -> list[str]:
        match node.type:
            case "heading":
                return [f"{node.markup if node.markup.startswith('#') else '##'} {self._line(node.children)}"]
            case "blockquote":
                return [f"> {line}".rstrip() for line in self.blocks(node.children)]
            case "bullet_list":
                return self._list(["- "] * len(node.children), node.children)
            case "ordered_list":
                first = int(node.attrs.get("start", 1))
                return self._list([f"{first + index}. " for index in range(len(node.children))], node.children)
            case "fence" | "code_block":
                return _fence(node.content, node.info.strip())
            case "table":
                return list(self._table(node))
            case "hr":
                return ["---"]
            case _:
                return self._inline(node.children or [node]).split("\n")

    def _list(self, marks: Sequence[str], items: Sequence[SyntaxTreeNode]) -> list[str]:
        lines: list[str] = []
        for mark, item in zip(marks, items, strict=True):
            first, *others = self.blocks(item.children) or [""]
            lines += [f"{mark}{first}", *(f"{' ' * len(mark)}{line}".rstrip() for line in others)]
        return lines

    def _table(self, node: SyntaxTreeNode) -> Iterator[str]:
        for part in node.children:
            for row in part.children:
                yield f"| {' | '.join(self._line(cell.children, code=False) for cell in row.children)} |"
                if part.type == "thead":
                    yield f"|{' --- |' * len(row.children)}"

    # ---------------------------------------------------------------- what stands in a line
    def _line(self, nodes: Sequence[SyntaxTreeNode], *, code: bool = True) -> str:
        return self._inline(nodes, code=code).replace("\\\n", " ").replace("\n", " ")

    def _inline(self, nodes: Sequence[SyntaxTreeNode], *, code: bool = True) -> str:
        written, texts = "", ""
        for node in nodes:
            if node.type == "text":  # An address may be cut into several of them.
                texts += node.content
                continue
            piece = self._piece(node, code=code)
            written += self.text(texts)
            written += " " if written.endswith("`") and piece.startswith("`") else ""
            written, texts = written + piece, ""
        return written + self.text(texts)

    def _piece(self, node: SyntaxTreeNode, *, code: bool) -> str:
        match node.type:
            case "inline":
                return self._inline(node.children, code=code)
            case "softbreak":
                return "\n"
            case "hardbreak":
                return "\\\n"
            case "strong" | "em":
                return f"{node.markup}{self._inline(node.children, code=code)}{node.markup}"
            case "code_inline" if code and node.content.strip():
                return _span(node.content)
            case "link" | "image":
                return self._link(node, code=code)
            case _:
                return self.text(node.content)

    def _link(self, node: SyntaxTreeNode, *, code: bool) -> str:
        inner = self._inline(node.children, code=code)
        address = str(node.attrs.get("href" if node.type == "link" else "src", ""))
        if not self._is_own(address):
            return inner
        if node.type == "link" and inner == f"<{address}>":
            return inner
        return f"{'' if node.type == 'link' else '!'}[{inner}]({address})"

    def _is_own(self, address: str) -> bool:
        """Whether an address leads into the repository, as it is written and not as a browser would make it."""
        rest = address.removeprefix(self._place.repository)
        if rest == address or (rest and rest[0] not in "/#") or not _PATH.fullmatch(rest):
            return False
        return not {".", ".."} & set(rest.partition("#")[0].split("/"))

    def text(self, text: str) -> str:
        """A text whose characters mean nothing, with addresses of the repository alone."""
        shown, written, end = visible(text, 12 * len(text) + 12), "", 0
        for found in _ADDRESS.finditer(shown):
            address = found[0].rstrip(_TRAILING)
            written += self._escape(shown[end : found.start()])
            written += f"<{address}>" if self._is_own(address) else self._escape(_GONE)
            end = found.start() + len(address)
        return written + self._escape(shown[end:])

    def _escape(self, text: str) -> str:
        return "".join(self._character(text, at) for at in range(len(text)))

    def _character(self, text: str, at: int) -> str:
        each = text[at]
        plain_form = unicodedata.normalize("NFKC", each)
        if "@" in plain_form or ":" in plain_form:
            return f"&#{ord(each)};{_BREAK}"
        if "#" in plain_form:
            number = _NUMBER.match(text, at + 1)
            own = number and number[0] == str(self._place.number) and (at == 0 or text[at - 1] == " ")
            return f"&#{ord(each)};{'' if own else _BREAK}"
        return each if each.isalnum() or each == " " else f"&#{ord(each)};"


def _fence(content: str, info: str) -> list[str]:
    lines = [visible(line.replace("\t", "    "), 12 * len(line) + 12) for line in content.rstrip("\n").split("\n")]
    fence = _ticks(content, 3)
    return [f"{fence}{info if info in _LANGUAGES else ''}", *lines, fence]


def _span(content: str) -> str:
    ticks, shown = _ticks(content, 1), visible(content, 12 * len(content) + 12)
    return f"{ticks} {shown} {ticks}" if "`" in shown or shown != shown.strip() else f"{ticks}{shown}{ticks}"


def _ticks(content: str, least: int) -> str:
    """A run of backticks that the content does not have."""
    longest = run = 0
    for each in content:
        run = run + 1 if each == "`" else 0
        longest = max(longest, run)
    return "`" * max(least, longest + 1)
