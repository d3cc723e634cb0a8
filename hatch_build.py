"""Puts into what is installed which build it is, and the native programs where there is a C compiler."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CLIENT, LAUNCHER = "lockgate-hook", "lockgate-contain"
"""Their files, beside ``lockgate/hook.py``. The launcher is for Linux alone."""
ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "src" / "lockgate"
BUILD = "build"
"""The file of the package that says which build it is: version, commit, digest of its files; a line each."""
_GIT_SECONDS = 20
SWITCH = "LOCKGATE_NATIVE"
"""The variable that says ``off`` for none of them, and ``required`` for no installation without them."""


def version() -> str:
    """The version of what is built here, from the tag and the commit: no two builds of different code share one."""
    return _described()[0]


def _described() -> tuple[str, str]:
    """Version and commit. A source distribution has them written down."""
    release = _release()
    commit = _git("rev-parse", "HEAD")
    if not commit:
        try:
            known, commit, _ = (PACKAGE / BUILD).read_text("ascii").splitlines()
        except (OSError, ValueError):
            return release, ""
        return known, commit
    tag, _, count = _git("describe", "--tags", "--long", "--match", "v[0-9]*").rpartition("-")[0].rpartition("-")
    changed = bool(_git("status", "--porcelain", "--", "src", "native"))
    release = tag.removeprefix("v") or release
    if tag and count == "0" and not changed:
        return release, commit
    local = [count] if tag else []
    local += [f"g{commit[:9]}"]
    local += [f"d{digest_of(PACKAGE)[:9]}"] if changed else []
    return f"{release}+{'.'.join(local)}", commit


def _release() -> str:
    found = re.search(r'^RELEASE = "([^"]+)"', (PACKAGE / "core" / "version.py").read_text("utf-8"), re.MULTILINE)
    assert found
    return found[1]


def _git(*words: str) -> str:
    """What git says of this very folder; nothing where it has none."""
    if not (ROOT / ".git").exists():
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - what this file says
            ["git", *words],  # noqa: S607 - the one of whoever builds
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def digest_of(package: Path) -> str:
    """The digest of a package's files, but for what is made anew on each machine.

    ``lockgate doctor`` computes the same of what is installed.
    """
    module = _load(PACKAGE / "system" / "package_digest.py")
    return str(module.digest_of(os.fspath(package)))


class NativeClient(BuildHookInterface[Any]):
    """Says which build it is, and compiles ``native/``: for a wheel, or into the tree of an editable installation."""

    _folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before anything is packed.

        Args:
            version: ``editable`` or ``standard``.
            build_data: Hatch's: what is packed in addition, and under which tag.
        """
        root = Path(self.root)
        editable = version == "editable"
        self._folder = "" if editable else tempfile.mkdtemp(prefix="lockgate-")
        self._say_build(build_data, editable=editable)
        if self.target_name != "wheel" or not _is_supported():
            return
        folder = root / "src" / "lockgate" if editable else Path(self._folder)
        names = (CLIENT, LAUNCHER) if sys.platform == "linux" else (CLIENT,)
        for name in names:
            (folder / name).unlink(missing_ok=True)
        switch = os.environ.get(SWITCH, "")
        if switch == "off":
            return
        native = _load(root / "native" / "compile.py")
        try:
            for name in names:
                make = native.compile_launcher if name == LAUNCHER else native.compile_client
                way = make(folder / name)
        except native.NotCompiledError as error:
            if switch == "required":
                self.finalize(version, build_data, "")
                raise
            self.app.display_warning(f"without the native programs: {error}")
            return
        if not editable:
            for name in names:
                build_data["force_include"][str(folder / name)] = f"lockgate/{name}"
            build_data["pure_python"] = False
            build_data["tag"] = native.wheel_tag(way)

    def _say_build(self, build_data: dict[str, Any], *, editable: bool) -> None:
        """Write down which build it is. The files of an editable installation may change, and have no digest."""
        found, commit = _described()
        text = f"{found}\n{commit}\n{'' if editable else digest_of(PACKAGE)}\n"
        if editable:
            (PACKAGE / BUILD).write_text(text, "ascii")
            return
        file = Path(self._folder, BUILD)
        file.write_text(text, "ascii")
        inside = f"src/lockgate/{BUILD}" if self.target_name == "sdist" else f"lockgate/{BUILD}"
        build_data["force_include"][str(file)] = inside

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Take away what was made for a package, which has a copy now."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _is_supported() -> bool:
    """Whether this is a 64-bit Python on Linux or macOS: a wheel's tag is to be that of the compiled program."""
    return sys.platform in ("linux", "darwin") and sys.maxsize > 2**32


def _load(file: Path) -> ModuleType:
    """The module in a file that is no part of a package."""
    spec = importlib.util.spec_from_file_location("lockgate_native_compile", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
