"""What reading or writing a path means.

The functions take a path as a tool or a shell word spells it: relative or absolute, with ``~``, ``..``, repeated
slashes, and marks that a shell still expands (``~/.s?h/id_*``). Each path is looked up twice, as written and with
symbolic links resolved (``Surroundings.realpath``); whatever either finds holds. Letters match in both cases, because
the file systems of macOS do.
"""

from __future__ import annotations

import posixpath
from functools import lru_cache

from lockgate.analysis.globs import Names, is_wild, path_matches, paths_meet
from lockgate.analysis.places import HOME, Path, Place, find, find_below, pattern_names
from lockgate.analysis.surroundings import Surroundings
from lockgate.model import Effect, EffectKind, Label, Variant

_READ_KINDS = {
    "secret": (EffectKind.READ_SECRET, Label.SECRET),
    "transcript": (EffectKind.INGEST, Label.UNTRUSTED),
    "vendored": (EffectKind.INGEST, Label.UNTRUSTED),
}
_WRITE_KINDS = {"tamper": EffectKind.TAMPER, "persist": EffectKind.PERSIST, "destroy": EffectKind.DESTROY}
_OWN_READABLE = (".py", ".pyi", ".yaml", ".yml", ".json", ".md", ".toml", ".txt")
"""What may be read of the gate's own: its code, its configuration and its manual. Not its state and keys."""
_OWN = "this belongs to the gate itself"
_SYSTEM_NAMES = frozenset({"bin", "sbin", "lib", "lib64", "libexec", "local", "share", "etc", "games", "include"})
_LONGEST = 4096


def absolute(path: str, cwd: str, around: Surroundings) -> str | None:
    """The absolute, lexically normalised path; ``None`` where the folder that it starts from is not known.

    Symbolic links are not resolved. ``~name`` is another person's home folder, which is looked for beside this one's.
    """
    joined = _joined(path, cwd, around)
    return None if joined is None else _normal(joined)


def read_effects(path: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of reading one path into the context."""
    found: list[Effect] = []
    for form in _forms(path, cwd, around):
        found += _own_read(form, path, around)
        found += [effect for place in find(form) if (effect := _read(place, path))]
        found += _configured(form, path, around.rules.secret_paths, EffectKind.READ_SECRET, Label.SECRET)
    return _unique(found)


def recursive_read_effects(root: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of reading everything below a folder.

    A home folder or ``/`` holds known secrets. A project is taken to hold none but what its own path says: a search
    in it stays local.
    """
    found: list[Effect] = []
    for form in _folders(root, cwd, around):
        found += [effect for place in find_below(form) if (effect := _read(place, root))]
        found += _configured(_below(form), root, around.rules.secret_paths, EffectKind.READ_SECRET, Label.SECRET)
        found += _own_read(form, root, around)
    return _unique(found)


def write_effects(path: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of creating, changing or removing one path."""
    found: list[Effect] = []
    for form in _forms(path, cwd, around):
        found += _own_write(form, path, around)
        inside = _in_project(form, around)
        found += [effect for place in find(form) if place.project or not inside if (effect := _write(place, path))]
        found += _configured_writes(form, path, around)
        found += _program_folder(form, path, around)
    return _unique(found)


def recursive_write_effects(root: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of moving, replacing, linking over or removing a whole folder: also of what is known to lie below it."""
    found: list[Effect] = []
    for form in _folders(root, cwd, around):
        found += _own_write(form, root, around, below=True)
        found += [effect for place in find_below(form) if (effect := _write(place, root))]
        found += _configured_writes(_below(form), root, around)
    return _unique([*write_effects(root, cwd, around), *found])


def outside_workspace(path: str, cwd: str, around: Surroundings) -> bool:
    """Whether a path, as written or with links resolved, lies outside the project.

    An unknown folder counts as outside.
    """
    full = absolute(path, cwd, around)
    if full is None or not around.workspace:
        return True
    workspace = posixpath.normpath(around.workspace)
    real = _real(_joined(path, cwd, around) or full, around)
    return not (_inside(full, workspace) and _inside(real, _real(workspace, around)))


def instructions_effects(path: str, cwd: str, around: Surroundings) -> tuple[Effect, ...]:
    """Effects of a client loading a file of instructions by itself.

    Instructions in the project and in the person's own client configuration are the person's; those that came with a
    package, or lie anywhere else, may be a stranger's.
    """
    vendored = [effect for effect in read_effects(path, cwd, around) if effect.kind is EffectKind.INGEST]
    if vendored:
        return tuple(vendored)
    full = absolute(path, cwd, around) or ""
    if not outside_workspace(path, cwd, around) or _is_client_configuration(full, around):
        return ()
    because = "these instructions lie outside the project and the person's own configuration"
    return (Effect(EffectKind.INGEST, path, "place:instructions/foreign", because, gives=Label.UNTRUSTED),)


def _is_client_configuration(full: str, around: Surroundings) -> bool:
    folders = [posixpath.join(around.home, name) for name in (".claude", ".codex", ".gemini", ".copilot", ".config")]
    system = ["/etc/claude-code", "/Library/Application Support/ClaudeCode", "/etc/codex"]
    parents = posixpath.dirname(around.workspace) if around.workspace else ""
    # A client also reads CLAUDE.md of the folders above the project; they are the person's when below the home folder.
    above = _inside(full, around.home) and _inside(parents, posixpath.dirname(full)) if parents else False
    return above or any(_inside(full, folder) for folder in folders + system)


# -- spelling --------------------------------------------------------------------------------------------------------


def _joined(path: str, cwd: str, around: Surroundings) -> str | None:
    text = path.replace("\0", "")[:_LONGEST]
    if text.startswith("~"):
        name, _, rest = text[1:].partition("/")
        return f"{_home_of(name, around)}/{rest}"
    if text.startswith("/"):
        return text
    start = cwd or ""
    return f"{start}/{text}" if start.startswith("/") else None


def _home_of(name: str, around: Surroundings) -> str:
    if not name or name == posixpath.basename(around.home):
        return around.home
    return "/root" if name == "root" else posixpath.join(posixpath.dirname(around.home), name)


def _normal(path: str) -> str:
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _real(path: str, around: Surroundings) -> str:
    try:
        return _normal(around.realpath(path))
    except (OSError, ValueError):
        return _normal(path)


def _fold(path: str) -> str:
    """The spelling that a file system which ignores case also ignores.

    Composed, case-folded, without invisible characters.
    """
    if path.isascii():
        return path.lower()
    import unicodedata

    shown = "".join(c for c in unicodedata.normalize("NFKC", path) if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFC", shown.casefold())


def _forms(path: str, cwd: str, around: Surroundings) -> list[Path]:
    """The path as the table asks about it: as written, and with links resolved."""
    joined = _joined(path, cwd, around)
    if joined is None:
        names = tuple(name for name in _fold(path).split("/") if name not in {"", ".", ".."})
        # The folder is not known, so it may be the home folder.
        return [Path(("**", *names), (HOME, *names), any(map(is_wild, names)))] if names else []
    spellings = dict.fromkeys(_aliases(_normal(joined)) + _aliases(_real(joined, around)))
    return [_form(spelling, around) for spelling in spellings]


def _aliases(path: str) -> list[str]:
    """A path, and what it is where it leads through a name that the system gives to another folder."""
    out = [path]
    moved = ("/private/", "/system/volumes/data/")
    out += [path[len(prefix) - 1 :] for prefix in moved if path.lower().startswith(prefix)]
    names = path.split("/")
    if names[1:2] == ["proc"]:
        for index in range(3, min(len(names), 7)):
            if names[index] == "root":
                out += _aliases("/" + "/".join(names[index + 1 :]))
            elif names[index] == "cwd":
                out.append("/**/" + "/".join(names[index + 1 :]))
    return out


def _form(path: str, around: Surroundings) -> Path:
    folded = _fold(path)
    names: Names = ("",) if folded == "/" else tuple(folded.split("/"))
    wild = is_wild(folded)
    home = names_of(around.home)
    if names[: len(home)] == home:
        return Path(names, (HOME, *names[len(home) :]), wild)
    # Another person's home folder: what is secret in one is secret in each.
    if names[:2] in {("", "root")}:
        return Path(names, (HOME, *names[2:]), wild)
    if names[:2] in {("", "home"), ("", "users")} and len(names) > 2:
        return Path(names, (HOME, *names[3:]), wild)
    if wild and paths_meet((*home, "**"), names):
        return Path(names, _wild_home(home, names), wild)
    return Path(names, None, wild)


def _in_project(form: Path, around: Surroundings) -> bool:
    """Whether a path lies in a project that is a folder of its own, and not a folder of the system such as ``/usr``."""
    names = names_of(around.workspace) if around.workspace else ()
    return len(names) > 2 and names[-1] not in _SYSTEM_NAMES and form.names[: len(names)] == names


def _folders(root: str, cwd: str, around: Surroundings) -> list[Path]:
    """The forms of a folder whose content is meant; a folder above the home folder means also the home folder."""
    home = names_of(around.home)
    forms = _forms(root, cwd, around)
    # Where it is not known which folder is meant, it may be the home folder itself.
    if not forms or any(form.home is None and home[: len(form.names)] == form.names for form in forms):
        forms.append(Path(home, (HOME,)))
    return forms


def _wild_home(home: Names, names: Names) -> Names:
    """The names behind the home folder in a path whose first names a shell still expands into it."""
    first = next((index for index, name in enumerate(names) if name == "**"), len(names))
    return (HOME, *names[min(len(home), first) :])


@lru_cache(maxsize=64)
def names_of(path: str) -> Names:
    """The case-folded names of an absolute path; the root's is empty."""
    folded = _fold(_normal(path))
    return ("",) if folded == "/" else tuple(folded.split("/"))


def _below(form: Path) -> Path:
    home = None if form.home is None else (*form.home, "**")
    return Path((*form.names, "**"), home, wild=True)


# -- effects ---------------------------------------------------------------------------------------------------------


def _read(place: Place, path: str) -> Effect | None:
    kind = _READ_KINDS.get(place.kind)
    return Effect(kind[0], path, f"place:{place.name}", place.because, gives=kind[1]) if kind else None


def _write(place: Place, path: str) -> Effect | None:
    kind = _WRITE_KINDS.get(place.kind)
    if kind is None:
        return None
    return Effect(kind, path, f"place:{place.name}", place.because, Variant.SELF if place.own else Variant.PLAIN)


def _meets(pattern: Names, form: Path) -> bool:
    view = form.home if pattern[0] == HOME else form.names
    return view is not None and (paths_meet(pattern, view) if form.wild else path_matches(pattern, view))


def _is_own(form: Path, around: Surroundings, *, below: bool = False) -> bool:
    for own in around.own_paths:
        names = names_of(own)
        if _meets((*names, "**"), form) or (below and form.names == names[: len(form.names)]):
            return True
    return False


def _is_code(own: str) -> bool:
    """Whether one of the gate's own folders holds installed code, which anybody may read."""
    names = names_of(own)
    installed = "site-packages" in names or "dist-packages" in names or names[-2:] == ("src", "lockgate")
    return installed or names[-1] in {".venv", "venv", "env"}


def _own_read(form: Path, path: str, around: Surroundings) -> list[Effect]:
    state = around._replace(own_paths=tuple(own for own in around.own_paths if not _is_code(own)))
    if not _is_own(form, state):
        return _client_records(form, path, around)
    if form.names[-1].endswith(_OWN_READABLE):
        return []
    return [Effect(EffectKind.TAMPER, path, "place:own/state", _OWN, Variant.SELF)]


def _client_records(form: Path, path: str, around: Surroundings) -> list[Effect]:
    for folder in around.client_paths:
        if _meets((*names_of(folder), "**"), form) and "memory" not in form.names:
            because = "an agent's records repeat what it was told by others"
            return [Effect(EffectKind.INGEST, path, "place:transcript/client", because, gives=Label.UNTRUSTED)]
    return []


def _own_write(form: Path, path: str, around: Surroundings, *, below: bool = False) -> list[Effect]:
    if _is_own(form, around, below=below):
        return [Effect(EffectKind.TAMPER, path, "place:own/write", _OWN, Variant.SELF)]
    return []


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> tuple[tuple[Names, str], ...]:
    """A person's patterns. One that names a folder means all that is in it."""
    out = []
    for pattern in patterns:
        names = pattern_names(pattern)
        out += [(names, pattern), ((*names, "**"), pattern)]
    return tuple(out)


def _configured(
    form: Path, path: str, patterns: tuple[str, ...], kind: EffectKind, gives: Label | None
) -> list[Effect]:
    for names, pattern in _compiled(patterns):
        if _meets(names, form):
            name = {EffectKind.READ_SECRET: "secret", EffectKind.TAMPER: "protected"}.get(kind, "persistent")
            because = f"the configuration lists {pattern} as {name}"
            return [Effect(kind, path, f"place:configured/{name}", because, gives=gives)]
    return []


def _configured_writes(form: Path, path: str, around: Surroundings) -> list[Effect]:
    return [
        *_configured(form, path, around.rules.protected_paths, EffectKind.TAMPER, None),
        *_configured(form, path, around.rules.persistent_paths, EffectKind.PERSIST, None),
    ]


def _program_folder(form: Path, path: str, around: Surroundings) -> list[Effect]:
    """Writing into a folder of ``PATH`` outside the project."""
    for folder in around.variables.get("PATH", "").split(":"):
        if (
            folder.startswith("/")
            and not _inside(folder, around.workspace or "/nowhere")
            and _meets((*names_of(folder), "**"), form)
        ):
            because = "programs that people start by name are looked for here"
            return [Effect(EffectKind.PERSIST, path, "place:persist/programs", because)]
    return []


def _unique(effects: list[Effect]) -> tuple[Effect, ...]:
    return tuple({(effect.rule, effect.what): effect for effect in effects}.values())
