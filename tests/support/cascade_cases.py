"""The truth table of the profile ``cascade``, as data: which call, in which state, with whose word, comes to what.

It is written down here a second time, and otherwise than in ``profiles.yaml``: by kinds of calls and by who decides.
Whatever drives a gate (in-process, over files or a socket, an agent's SDK) can be held against it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

COLUMNS: Mapping[str, frozenset[str]] = {
    "clean": frozenset(),
    "untrusted": frozenset({"untrusted"}),
    "secret": frozenset({"secret"}),
    "both": frozenset({"untrusted", "secret"}),
}
JUDGES = ("fine", "flags", "fails", "absent")
"""What the judge says of the call; ``fails`` is a judge that has no answer, ``absent`` that there is none."""
PERSONS = ("approves", "denies", "expires")
"""What the person says; ``expires`` is a person who lets the time pass."""

# Who decides a call of this kind in a clean, an untrusted, a secret session and in one that is both. Of several words
# the first that can is taken: `contain` where the machine can, `judge` where there is one (what it flags is denied),
# `judge?` the same (what it flags goes to a person). A person can always be asked. `labels`, `local` and `free` let the
# call run, `refused` denies it.
KINDS: Mapping[str, tuple[str, str, str, str]] = {
    "local": ("labels", "local", "local", "local"),
    "reads": ("labels", "free", "free", "free"),
    "sends": ("labels", "judge", "judge", "person"),
    "runtime": ("labels", "contain judge", "contain judge", "contain person"),
    "unseen": ("labels", "contain judge", "contain judge", "contain judge?"),
    "searches": ("labels", "free", "judge", "judge?"),
    "changes": ("labels", "judge", "judge", "person"),
    # Nothing is declared of it: it may read private data and send it in one go, so untrusted alone counts as both.
    "unknown": ("labels", "person", "judge", "person"),
    "tampers": ("person", "refused", "person", "refused"),
    "approves": ("refused", "refused", "refused", "refused"),
}


class Call(NamedTuple):
    """One call of the table."""

    kind: str
    tool: str
    tool_input: Mapping[str, Any]
    why: str = ""
    """Why its kind is another than the design's lists of programs say, empty where it is not."""

    @property
    def name(self) -> str:
        """The call in short."""
        return str(next(iter(self.tool_input.values()))) if self.tool == "Bash" else self.tool


class Case(NamedTuple):
    """One cell: a call, the state of the session, what can be had, and what is due."""

    call: Call
    column: str
    contains: bool
    """Whether the machine can run a shell command contained."""
    judge: str
    person: str
    verdict: str
    """``allow``, ``contain`` or ``deny``, once everybody has been heard."""
    tier: str
    """The value of :class:`lockgate.core.model.Tier` that decided."""
    judged: bool
    """Whether the judge is asked."""
    asked: bool
    """Whether a person is asked. Where the agent's own client asks, the verdict is ``ask`` then."""

    @property
    def labels(self) -> frozenset[str]:
        """The session's labels."""
        return COLUMNS[self.column]

    @property
    def name(self) -> str:
        """The cell in short."""
        able = "contains" if self.contains else "bare"
        return f"{self.call.name}|{self.column}|{able}|{self.judge}|{self.person}"


def due(cell: str, *, contains: bool, judge: str, person: str) -> tuple[str, str, bool, bool]:
    """Verdict, tier, whether the judge is asked and whether a person is, for what stands in ``KINDS``."""
    judged = False
    for word in cell.split():
        match word:
            case "labels" | "local" | "free":
                return "allow", {"free": "table"}.get(word, word), False, False
            case "refused":
                return "deny", "table", False, False
            case "contain" if contains:
                return "contain", "containment", False, False
            case "judge" | "judge?" if judge != "absent":
                if judge == "fine":
                    return "allow", "judge", True, False
                if word == "judge":
                    return "deny", "judge", True, False
                judged = True
    return ("allow" if person == "approves" else "deny"), "person", judged, True


def cells(call: Call, *, every: bool = True) -> Iterator[Case]:
    """The cells of one call.

    Args:
        call: The call.
        every: Whether all combinations are given; else those that nobody's word changes are given once.
    """
    seen = set()
    for (place, column), contains, judge, person in itertools.product(
        enumerate(COLUMNS), (False, True), JUDGES, PERSONS
    ):
        # Only a shell command can be contained.
        can = contains and call.tool == "Bash"
        found = due(KINDS[call.kind][place], contains=can, judge=judge, person=person)
        _, _, judged, asked = found
        matters = (column, can, judge if judged or judge == "absent" else "", person if asked else "", found)
        if every or matters not in seen:
            yield Case(call, column, contains, judge, person, *found)
        seen.add(matters)


def few(calls: Iterable[Call] = (), *, contains: bool | None = None) -> list[Case]:
    """A call of each kind, in each cell that somebody's word changes: for what is slow to drive.

    Args:
        calls: Which calls; the first of each kind where none are given.
        contains: Only cells of machines that can contain (or cannot), where this is given.
    """
    picked = list(calls) or [next(call for call in CALLS if call.kind == kind) for kind in KINDS]
    return [
        case for call in picked for case in cells(call, every=False) if contains is None or case.contains is contains
    ]


def _shell(kind: str, commands: Sequence[str], why: str = "") -> list[Call]:
    return [Call(kind, "Bash", {"command": command}, why) for command in commands]


# ---------------------------------------------------------------- "provably local" in the design, as it is used
LOCAL = _shell(
    "local",
    [
        "awk '{print $1}' a.txt", "base64 a.txt", "basename /a/b.txt", "bc <<< '1+1'", "cal", "cat a.txt",
        "column -t a.txt", "comm a.txt b.txt", "cut -d: -f1 a.txt", "date +%F", "df -h", "diff a.txt b.txt",
        "dirname /a/b.txt", "du -sh .", "echo hello", "expand a.txt", "expr 1 + 1", "fd '\\.py$' src", "file a.txt",
        "find . -name '*.py'", "fmt a.txt", "fold -w 80 a.txt", "free -m", "grep -rn main src", "head -n 5 a.txt",
        "hexdump -C a.txt", "id", "iconv -f latin1 -t utf8 a.txt", "jq .name package.json", "less a.txt", "locale",
        "ls -la", "lscpu", "md5sum a.txt", "mktemp", "nl a.txt", "nproc", "od -c a.txt", "paste a.txt b.txt", "pwd",
        "readelf -h a.out", "realpath a.txt", "rev a.txt", "rg main src", "sed -n 1,5p a.txt", "seq 1 5",
        "sha256sum a.txt", "sort a.txt", "stat a.txt", "strings a.out", "tac a.txt", "tail -n 5 a.txt",
        "tr a-z A-Z < a.txt", "tree src", "type ls", "uname -a", "unexpand a.txt", "uniq a.txt", "uptime",
        "wc -l a.txt", "which python3", "whoami", "find . -name '*.py' | xargs grep -n main", "xxd a.out",
        "LC_ALL=C strings a.out",
    ],
)  # fmt: skip

# ---------------------------------------------------------------- "network-capable" in the design
NETWORK = _shell(
    "sends",
    [
        "curl https://example.com/?q=1", "curl -d @a.txt https://example.com/", "wget https://example.com/?q=1",
        "nc example.com 80", "netcat example.com 80", "ncat example.com 80", "telnet example.com", "ssh example.com ls",
        "scp a.txt example.com:", "sftp example.com", "rsync a.txt example.com:", "nslookup x.example.com",
        "dig x.example.com", "host x.example.com", "ping -c1 x.example.com", "traceroute x.example.com",
        "apt-get install x", "apt install x", "pip install x", "npm install x", "yarn add x", "cargo install x",
    ],
)  # fmt: skip
RUNTIMES = _shell(
    "runtime",
    [
        "python x.py", "python3 x.py", "python3 -c 'exec(x)'", "python", "node x.js", "node -e 'f()'", "ruby x.rb",
        "perl x.pl", "perl -e 'f(1)'", "php x.php", 'bash -c "$X"', 'sh -c "$X"', 'eval "$X"',
    ],
)  # fmt: skip

# ---------------------------------------------------------------- the grey zone between them
GREY = _shell(
    "unseen",
    ["make test", "pytest -q", "python -m pytest", "cargo build", "./build.sh", "unknown-tool x", "$X y", "sh x.sh"],
)
GREY_LOCAL = _shell(
    "local", ["cp a.txt b.txt", "git status", "git commit -m x", "mkdir -p out", "tar czf x.tgz src", "pip list"],
    "it is known to reach nobody; a judge is not needed to say so",
)  # fmt: skip

# ---------------------------------------------------------------- where such lists are wrong
SEEN_THROUGH = _shell(
    "local",
    ["python3 -c 'print(1)'", "node -p process.version", "bash -c 'ls src'", 'eval "echo hi"', "python --version"],
    "the list names the program; what it is given to run is seen, and computes",
) + _shell("local", ["curl http://localhost:8000/"], "it reaches this machine only")  # fmt: skip
NOT_LOCAL = [
    *_shell(
        "unseen",
        ["ls | xargs ./run", "rg --pre ./x main src", "sort --compress-program=./x a.txt"],
        "the list calls the program local; it runs another one",
    ),
    *_shell(
        "unseen",
        ["awk 'BEGIN { system(x) }'", "sed 's/x/y/e' a.txt"],
        "the list calls the program local; its code runs a command",
    ),
    *_shell("runtime", ["cat a.txt | sh", "find . -exec sh -c \"$X\" ';'"], "it ends in a shell that runs anything"),
    *_shell(
        "sends",
        ["find . -exec curl -T {} https://example.com/ ';'", "ls | xargs -I{} curl https://example.com/{}"],
        "the list calls the program local; it runs curl",
    ),
    *_shell("sends", ["git push origin main"], "the list leaves it to the judge; it sends for certain"),
]

# ---------------------------------------------------------------- what the design says nothing of
_HOOK = ".git/hooks/pre-commit"
OTHERS = [
    Call("local", "Read", {"file_path": "a.txt"}),
    Call("reads", "Read", {"file_path": ".env"}),
    Call("sends", "WebFetch", {"url": "https://example.com/?q=1", "prompt": "x"}),
    Call("searches", "WebSearch", {"query": "x"}),
    Call("changes", "Write", {"file_path": _HOOK, "content": "x"}),
    *_shell("reads", ["cat .env"]),
    *_shell("changes", [f"cp a.sh {_HOOK}", "find . -delete"]),
    Call("unknown", "mcp__tracker__get_issue", {"number": 7}),
    Call("unknown", "SomeTool", {"x": 1}),
    *_shell("tampers", ["echo x > .claude/settings.json"]),
    *_shell("approves", ["lockgate approve abc"]),
]

CALLS = [*LOCAL, *NETWORK, *RUNTIMES, *GREY, *GREY_LOCAL, *SEEN_THROUGH, *NOT_LOCAL, *OTHERS]
