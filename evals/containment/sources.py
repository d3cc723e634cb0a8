"""A fresh copy of a project, and a developer's environment for it."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from pathlib import Path
from typing import Any

import fetching


class Source:
    """One project below a home folder.

    Args:
        project: An entry of ``projects/*.yaml``.
        home: The home folder.
    """

    def __init__(self, project: dict[str, Any], home: Path) -> None:
        self._project = project
        self._group = project.get("group", "")
        self.home = home
        self.place = home / "go" / "src" / project["name"] if self._group == "go" else home / "code" / "project"
        self.environment = self._environment()

    def fill(self) -> None:
        """Make the project anew, as it was published."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.parent.mkdir(parents=True, exist_ok=True)
        if self._group in _FILLED:
            _FILLED[self._group](self)
        for name, text in self._project.get("files", {}).items():
            path = self.place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)

    # ------------------------------------------------------------ where each kind comes from
    def _from_pypi(self) -> None:
        name = self._project["name"].replace("-", "_")
        archive = next(path for path in fetching.sdists().iterdir() if path.name.lower().startswith(f"{name}-"))
        self._unpack(archive)

    def _from_npm(self) -> None:
        packages = fetching.packages()
        shutil.copytree(packages / self._project["name"], self.place)
        below = self.place.parent / "node_modules"
        if not below.exists():
            below.symlink_to(packages)

    def _from_crates(self) -> None:
        registry = fetching.debian() / "usr/share/cargo/registry"
        (found,) = registry.glob(f"{self._project['name']}-[0-9]*")
        shutil.copytree(found, self.place, ignore=shutil.ignore_patterns(".cargo-checksum.json", "Cargo.lock"))
        settings = self.home / ".cargo" / "config.toml"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text(
            f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{registry}"\n'
            "[net]\noffline = true\n"
        )

    def _from_go(self) -> None:
        shutil.copytree(fetching.debian() / "usr/share/gocode/src" / self._project["name"], self.place)

    def _from_upstream(self) -> None:
        (archive,) = fetching.upstream().glob(f"{self._project['name']}_*.orig.tar.*[!c]")
        self._unpack(archive)

    def _unpack(self, archive: Path) -> None:
        """The one folder of an archive."""
        unpacked = self.place.with_name("unpacked")
        with tarfile.open(archive) as packed:
            packed.extractall(unpacked, filter="data")
        (only,) = unpacked.iterdir()
        only.rename(self.place)
        unpacked.rmdir()

    # ------------------------------------------------------------ environment
    def _environment(self) -> dict[str, str]:
        """A developer's environment; tests take their random choices from a fixed seed."""
        kept = {name: os.environ[name] for name in ("LANG", "RUSTUP_HOME") if name in os.environ}
        if shutil.which("cargo") and "RUSTUP_HOME" not in kept:
            kept["RUSTUP_HOME"] = os.path.expanduser("~/.rustup")
        found = [os.path.dirname(path) for name in ("node", "cargo") if (path := shutil.which(name))]
        path = dict.fromkeys([*self._programs(), *found, "/usr/local/bin", "/usr/bin", "/bin"])
        return {
            **kept,
            "HOME": str(self.home),
            "PATH": ":".join(map(str, path)),
            "SHELL": "/bin/bash",
            "PYTHONHASHSEED": "0",
            "HYPOTHESIS_STORAGE_DIRECTORY": ".hypothesis",
            "CI": "1",
            **self._for_kind(),
            **self._project.get("environment", {}),
        }

    def _programs(self) -> list[Path]:
        if self._group == "python":
            return [fetching.tools()]
        if self._group == "npm":
            return [fetching.packages() / ".bin"]
        if self._group == "go":
            return [fetching.debian() / "usr/lib/go-1.19/bin"]
        return [Path(sys.executable).parent]

    def _for_kind(self) -> dict[str, str]:
        if self._group == "python":
            return {"PYTHONPATH": str(self.place / self._project.get("path", ""))}
        if self._group == "crates":
            # Crates of some years ago meet today's compiler.
            return {"RUSTFLAGS": "--cap-lints=allow"}
        if self._group == "npm":
            # Headers for native addons: node-gyp would download them.
            return {"npm_config_nodedir": str(Path(os.path.realpath(shutil.which("node") or "node")).parents[1])}
        if self._group == "go":
            unpacked = fetching.debian()
            return {
                "GOROOT": str(unpacked / "usr/lib/go-1.19"),
                "GOPATH": f"{self.home / 'go'}:{unpacked / 'usr/share/gocode'}",
                "GO111MODULE": "off",
                # No test result from a cache.
                "GOFLAGS": "-count=1",
            }
        return {}


_FILLED = {
    "python": Source._from_pypi,
    "npm": Source._from_npm,
    "crates": Source._from_crates,
    "go": Source._from_go,
    "c": Source._from_upstream,
}
