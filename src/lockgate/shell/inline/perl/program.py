"""Perl on the command line: the small programs that edit and select lines.

There is no grammar of Perl that a parser could follow, because what a slash or a brace means depends on what has run
before. So this reads a small part in which it does not: each name is known, and a slash after one that may take an
argument is refused.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.inline.data import language
from lockgate.shell.inline.perl.texts import runs_something

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_LONGEST = 4_000
_DEEPEST = 60
_SPACE = lazy_re(r"(?:[ \t\n]+|#[^\n]*)*")
_WORD = lazy_re(r"[A-Za-z_]\w*")
_NUMBER = lazy_re(r"\d+(?:\.\d+)?(?!\w)(?!\.\d)")
_SCALAR = lazy_re(r"\$(?P<name>[A-Za-z]\w*|_(?!\w)|\d+|[&.,/](?![\w\[{]))")
_ARRAY = lazy_re(r"[@%](?P<name>[A-Za-z]\w*|_(?!\w))")
_OPERATOR = lazy_re(
    r"\*\*=?|\+\+|--|\|\|=?|&&=?|//=?|\.\.|<=>|=>|[=!]=|[<>]=|=~|!~|[-+*.x%]=(?![=~])|=(?![=~])|[-+*/.%<>?:,]"
    r"|(?:eq|ne|lt|gt|le|ge|cmp|and|or|xor|x)(?!\w)"
)
_REGEX_FLAGS = lazy_re(r"[gimsxoacdlunp]*(?!\w)")
_CHANGE_FLAGS = lazy_re(r"[gimsxor]*(?!\w)")
_MODIFIERS = frozenset({"if", "unless", "while", "until", "for", "foreach", "and", "or", "xor"})


class _NotReadError(Exception):
    """A construct that is not in the part of Perl that is read."""


def perl_effects(call: ProgramCall, text: str) -> None:
    """Record that a program on the command line cannot be seen through, where that is so.

    Perl joins the texts of all ``-e`` with line ends, so they are one program.
    """
    texts = [word.text for option in call.matched.options if option.name in ("-e", "-E") for word in option.value]
    code = "\n".join(texts) or text
    if not is_plain(code):
        from lockgate.shell.inline.opaque import record_unread

        record_unread(call, "perl", code, "perl code on the command line cannot be seen through")


def is_plain(text: str) -> bool:
    """Whether a program only computes and prints."""
    if len(text) > _LONGEST or "\n=" in text or text.startswith("="):
        return False
    try:
        _PerlReader(text).program()
    except _NotReadError:
        return False
    return True


class _PerlReader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        known = language("perl")
        self.lists, self.unary, self.others, self.flow, self.handles = (
            frozenset(known[name].split()) for name in ("lists", "unary", "others", "flow", "handles")
        )
        self.variables = frozenset(known["variables"].replace('"', "").split())

    # ------------------------------------------------------------ the text

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _next(self) -> str:
        self._skip()
        return self.text[self.at : self.at + 1]

    def _take(self, mark: str) -> bool:
        self._skip()
        if self.text.startswith(mark, self.at):
            self.at += len(mark)
            return True
        return False

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise _NotReadError

    def _word(self) -> str:
        """The word here, which is not taken."""
        self._skip()
        match = _WORD.match(self.text, self.at)
        return match.group() if match else ""

    # ------------------------------------------------------------ statements

    def program(self) -> None:
        while self._next():
            self._read_statement()

    def _read_statement(self) -> None:
        word = self._word()
        if self._take(";"):
            return
        if word in ("BEGIN", "END"):
            self.at += len(word)
            self._read_block()
        elif word in ("if", "unless", "while", "until"):
            self.at += len(word)
            self._read_condition()
            self._read_block()
            while self._word() in ("elsif", "else"):
                branch = self._word()
                self.at += len(branch)
                if branch == "elsif":
                    self._read_condition()
                self._read_block()
        else:
            self._read_expression()
            while (word := self._word()) in ("if", "unless", "while", "until", "for", "foreach"):
                self.at += len(word)
                self._read_expression()
            if self._next() not in ("", "}"):
                self._need(";")

    def _read_condition(self) -> None:
        self._need("(")
        self._read_expression()
        self._need(")")

    def _read_block(self) -> None:
        self._need("{")
        while not self._take("}"):
            if not self._next():
                raise _NotReadError
            self._read_statement()

    # ------------------------------------------------------------ expressions

    def _read_expression(self) -> None:
        """Terms and operators in turn. Which binds closer does not matter here."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _NotReadError
        self._read_term()
        while (operator := self._operator()) != "":
            if operator in (",", "=>") and self._next() in ("", ")", "]", "}", ";"):
                break
            if operator in ("++", "--"):
                continue
            self._read_term()
        self.depth -= 1

    def _operator(self) -> str:
        self._skip()
        match = _OPERATOR.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group()

    def _read_term(self) -> None:
        character = self._next()
        if character in ("!", "-", "+", "\\"):
            self.at += 1
            if character == "\\" or (character == "-" and self.text[self.at : self.at + 1].isalpha()):
                raise _NotReadError
            if self.text[self.at : self.at + 1] == character:
                self.at += 1
            self._read_term()
        elif character == "(":
            self.at += 1
            if not self._take(")"):
                self._read_expression()
                self._need(")")
            if self._take("["):
                self._read_expression()
                self._need("]")
        elif character in "\"'/" and character:
            self._read_quoted(character)
        elif character in "$@%" and character:
            self._read_variable(character)
        elif character.isdigit():
            match = _NUMBER.match(self.text, self.at)
            if match is None:
                raise _NotReadError
            self.at = match.end()
        else:
            self._read_name()

    def _read_quoted(self, mark: str) -> None:
        self.at += 1
        body = self._until(mark)
        if mark != "'" and runs_something(body):
            raise _NotReadError
        if mark == "/":
            self._read_flags(regex=True)

    def _until(self, mark: str) -> str:
        start = self.at
        while self.at < len(self.text):
            if self.text[self.at] == "\\":
                self.at += 1
            elif self.text[self.at] == mark:
                self.at += 1
                return self.text[start : self.at - 1]
            self.at += 1
        raise _NotReadError

    def _read_flags(self, *, regex: bool) -> None:
        match = (_REGEX_FLAGS if regex else _CHANGE_FLAGS).match(self.text, self.at)
        if match is None:
            raise _NotReadError
        self.at = match.end()

    def _read_variable(self, kind: str) -> None:
        match = (_SCALAR if kind == "$" else _ARRAY).match(self.text, self.at)
        name = match.group("name") if match else ""
        if match is None or not (name[:1].islower() or name in self.variables or name.isdigit()):
            raise _NotReadError
        self.at = match.end()
        while self.text[self.at : self.at + 1] in ("[", "{") and self.at < len(self.text):
            closing = {"[": "]", "{": "}"}[self.text[self.at]]
            if kind == "%":
                raise _NotReadError
            self.at += 1
            self._read_key(closing)

    def _read_key(self, closing: str) -> None:
        word = self._word()
        after = self.at + len(word)
        if closing == "}" and word and self.text[after : after + 1] == "}":
            self.at = after + 1
            return
        self._read_expression()
        self._need(closing)

    def _read_name(self) -> None:
        word = self._word()
        start = self.at
        self.at += len(word)
        following = self.text[self.at : self.at + 1]
        if word in ("s", "y", "tr", "m") and following and (following in "/|#,!:~%@;^" or following == "{"):
            self._read_changes(word, following)
        elif self._next() == "=" and self.text.startswith("=>", self.at):
            raise _NotReadError
        elif word == "my" or word == "not":
            self._read_term()
        elif word in self.unary:
            self._read_argument()
        elif word in self.lists or word in self.others:
            self._read_arguments(word)
        elif word not in self.flow or not word:
            self.at = start
            raise _NotReadError

    def _read_changes(self, word: str, mark: str) -> None:
        """``s/a/b/``, ``tr/a/b/``, ``m/a/``."""
        if mark == "{":
            raise _NotReadError
        self.at += 1
        bodies = [self._until(mark)] + ([] if word == "m" else [self._until(mark)])
        if word in ("s", "m") and any(map(runs_something, bodies)):
            raise _NotReadError
        if word in ("s", "m"):
            self._read_flags(regex=word == "m")
        else:
            self.at += len(self.text[self.at :]) - len(self.text[self.at :].lstrip("cdsr"))
            if _WORD.match(self.text, self.at):
                raise _NotReadError

    def _read_argument(self) -> None:
        """What a function of one value gets, if anything. A slash here may divide: it is not read."""
        character = self._next()
        if character in ("/", "<", "?"):
            raise _NotReadError
        word = self._word()
        operator = _OPERATOR.match(self.text, self.at)
        if (character and character in "$@%(\"'!0123456789") or (word and word not in _MODIFIERS and not operator):
            self._read_term()

    def _read_arguments(self, word: str) -> None:
        """What a function of a list gets, if anything."""
        paren = self._take("(")
        if word in ("print", "printf", "say", "die", "warn") and self._word() in self.handles:
            self.at += len(self._word())
        character = self._next()
        slash = character == "/" and word not in ("print", "split", "join", "push")
        if slash or (character and character in "<?{"):
            raise _NotReadError
        ends = not character or character in ";})" or self._word() in _MODIFIERS
        if not ends:
            if word == "sort" and not paren and self._word() not in ("keys", "values", "reverse", ""):
                raise _NotReadError
            self._read_expression()
        if paren:
            self._need(")")
