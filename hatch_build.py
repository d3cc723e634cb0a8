"""Puts the native programs into what is installed, where there is a C compiler; everything works without them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CLIENT, LAUNCHER = "lockgate-hook", "lockgate-contain"
"""Their files, beside ``lockgate/hook.py``. The launcher is for Linux alone."""
SWITCH = "LOCKGATE_NATIVE"
"""The variable that says ``off`` for none of them, and ``required`` for no installation without them."""


class NativeClient(BuildHookInterface[Any]):
    """Compiles ``native/`` for a wheel, and into the source tree for an editable installation."""

    _folder = ""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before anything is packed.

        Args:
            version: ``editable`` or ``standard``.
            build_data: Hatch's: what is packed in addition, and under which tag.
        """
        if self.target_name != "wheel" or not _is_supported():
            return
        root = Path(self.root)
        editable = version == "editable"
        self._folder = "" if editable else tempfile.mkdtemp(prefix="lockgate-")
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

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Take away what was compiled for a wheel, which has a copy now."""
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
