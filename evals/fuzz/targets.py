"""What must hold for every input, whatever it is: one function for each reader of text that others may have written.

Each takes bytes and raises where a law does not hold. ``fuzz.py`` looks for such bytes; the tests replay those that are
kept in ``corpus``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable

from lockgate.analysis.prompts.prompt import mention_effects
from lockgate.clients.claude.events import ADAPTER as CLAUDE_CODE
from lockgate.clients.common import payload
from lockgate.clients.wire import resident as wire
from lockgate.configuration.bundles import envelope, manifest
from lockgate.containment.registry_proxy.commands import find_wanted, install_of
from lockgate.containment.registry_proxy.indexes import NPMJS, PYPI
from lockgate.containment.registry_proxy.lock_files import UncoveredError
from lockgate.containment.registry_proxy.requests import Filter
from lockgate.core.errors import BadInputError, BundleError
from lockgate.core.model import Analysis, EffectKind
from lockgate.patterns import decoding
from lockgate.patterns.decoding.candidates import SPOT_PATTERNS
from lockgate.patterns.redaction import credentials as redact
from lockgate.resources import addresses
from lockgate.resources.host_view import HostView
from lockgate.shell import analyse_shell
from lockgate.shell.grammar.reader import read
from lockgate.shell.grammar.tree import Unparsed, walk

AROUND = HostView(home="/home/user", workspace="/home/user/project", variables={"PATH": "/usr/bin"})
_FAULTS = frozenset({"shell:fault", "analysis:error"})


def _text(data: bytes) -> str:
    """Any text; what is no UTF-8 becomes half of a surrogate pair, as with names of files."""
    return data.decode("utf-8", "surrogateescape")


def _analysed(command: str) -> Analysis:
    analysis = analyse_shell(command, "/home/user/project", AROUND)
    faults = [effect for effect in analysis.effects if effect.rule in _FAULTS]
    assert not faults, faults
    assert all(effect.because and effect.rule for effect in analysis.effects)
    return analysis


def reader(data: bytes) -> None:
    """The shell reader: a tree, or why there is none."""
    text = _text(data)
    for dialect in ("bash", "sh"):
        script = read(text, dialect)
        if isinstance(script, Unparsed):
            assert script.reason
            assert 0 <= script.position <= len(text)
        else:
            assert sum(1 for _ in walk(script)) <= len(text)


def shell(data: bytes) -> None:
    """A whole command: no fault, and what stands before it is not forgotten."""
    text = _text(data)
    _analysed(text)
    kinds = {effect.kind for effect in _analysed(f"git push\n{text}").effects}
    assert kinds & {EffectKind.EGRESS, EffectKind.EXECUTE}


def _code(*words: str) -> Callable[[bytes], None]:
    def target(data: bytes) -> None:
        text = _text(data).replace("\0", "")
        _analysed(f"{shlex.join(words)} {shlex.quote(text)}")

    target.__doc__ = f"Code on the command line of {words[0]}."
    return target


python = _code("python3", "-c")
sed = _code("sed")
awk = _code("awk")
jq = _code("jq")
sql = _code("sqlite3", "a.db")
curl = _code("curl", "-s")
git = _code("git")


def address(data: bytes) -> None:
    """An address has one spelling, and that spelling is its own."""
    text = _text(data)
    once = addresses.normalise(text)
    if once is not None:
        assert addresses.normalise(once) == once
        assert addresses.host_of(once) == addresses.host_of(text)
        assert once.isascii()
    for found in addresses.extract(text):
        assert addresses.normalise(found) == found


def result(data: bytes) -> None:
    """A tool's result: what is redacted stays so."""
    text = _text(data)
    once = redact.redact(text)
    assert redact.redact(once) == once
    mention_effects(text, "/home/user/project", AROUND)


def event(data: bytes) -> None:
    """A client's payload: an event, or an error of the one kind that a hook turns into a refusal."""
    try:
        found = CLAUDE_CODE.decode(payload.parse(data), {})
    except BadInputError:
        return
    json.dumps(repr(found))


def _spots(data: bytes) -> list[tuple[str, int]]:
    found = [(name, hit.end()) for name, spot in SPOT_PATTERNS.items() for hit in re.finditer(spot, data)]
    return sorted(found, key=lambda spot: spot[1])


def patterns_decoding(data: bytes) -> None:
    """What is decoded lies in the text, and is not more than it may be."""
    budget = decoding.Budget(len(data), lambda: False)
    for view in decoding.views(data, _spots(data), _spots, budget):
        assert 0 <= view.start <= view.end <= len(data)
        assert 1 <= len(view.encoding) <= decoding.DEPTH
        for at in {0, len(view.data) // 2, max(0, len(view.data) - 1)}:
            start, end = view.span(at, at + 1)
            assert view.start <= start <= end <= view.end
    assert budget.left >= 0


def policy_bundle(data: bytes) -> None:
    """A fleet's bundle: read or refused; and what is read is what would be signed again."""
    try:
        found = manifest.decode(data)
    except BundleError:
        pass
    else:
        assert manifest.decode(manifest.encode(found)) == found
        assert manifest.files_of(data) == found.files
        assert found.files.keys() <= set(manifest.FILES)
    try:
        outer = envelope.decode(data)
    except BundleError:
        return
    assert envelope.decode(envelope.encode(outer)) == outer


def gate_request(data: bytes) -> None:
    """What is said to a resident gate, and by it: read or refused; and what is read is what would be written again."""
    try:
        head, size = wire.sizes(data[: wire.HEADER])
        asked = wire.request(data[wire.HEADER :][:head], data[wire.HEADER + head :][:size])
    except BadInputError:
        pass
    else:
        spelt = wire.encode_request(asked)
        head, size = wire.sizes(spelt[: wire.HEADER])
        assert wire.request(spelt[wire.HEADER :][:head], spelt[wire.HEADER + head :]) == asked
    try:
        code, stdout, stderr = wire.answer_of(data)
    except BadInputError:
        return
    assert 10 + len(stdout) + len(stderr) == len(data)
    assert 0 <= code <= 255


def lock_file(data: bytes) -> None:
    """A manifest or lock file: read or refused; and all that it lets be asked for is a plain name or address."""
    files = ("r.txt", "pyproject.toml", "uv.lock", "package.json", "package-lock.json")
    read = dict.fromkeys(files, data).get
    for words in (("pip", "install", "-r", "r.txt"), ("pip", "install", "."), ("uv", "sync"), ("npm", "ci")):
        install = install_of(words)
        assert install is not None
        try:
            found = find_wanted(install, "", read, (PYPI, NPMJS))
        except UncoveredError:
            continue
        assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in found.projects)
        assert all(file.startswith("https://") and file.isascii() for file in found.files)
        Filter(found, (PYPI, NPMJS))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reader": reader,
    "shell": shell,
    "python": python,
    "sed": sed,
    "awk": awk,
    "jq": jq,
    "sql": sql,
    "curl": curl,
    "git": git,
    "address": address,
    "result": result,
    "event": event,
    "patterns_decoding": patterns_decoding,
    "policy_bundle": policy_bundle,
    "gate_request": gate_request,
    "lock_file": lock_file,
}
