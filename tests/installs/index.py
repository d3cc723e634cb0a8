"""A package index on this machine's loopback, of Python's packages and npm's, that notes everything it is asked.

A stand-in, for what no real index does: it has redirects and tells what arrived. The formats are those of
packaging.python.org (simple repository API, wheels) and github.com/npm/registry.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import ssl
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import trustme

WHEEL = "shoplib-1.0-py3-none-any.whl"
NEEDED = "needed-1.0-py3-none-any.whl"
TARBALL = "odd-1.0.0.tgz"
USER, WORD, TOKEN = "ann", "index-password", "npm-token"


def wheel(name: str, *needs: str) -> bytes:
    """A wheel of one module."""
    held, info = io.BytesIO(), f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n" + "".join(
        f"Requires-Dist: {it}\n" for it in needs
    )
    files = {
        f"{name}.py": "VALUE = 7\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(held, "w") as file:
        for path, text in files.items():
            file.writestr(path, text)
        file.writestr(f"{info}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"]))
    return held.getvalue()


def tarball(script: str) -> bytes:
    """A package of npm that runs a script when it is installed."""
    manifest = {"name": "odd", "version": "1.0.0", "scripts": {"install": script}}
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as file:
        data = json.dumps(manifest).encode()
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(data)
        file.addfile(entry, io.BytesIO(data))
    return gzip.compress(held.getvalue())


class LocalIndex:
    """The server. ``https://localhost:PORT/simple`` is Python's, ``https://localhost:PORT/npm`` npm's."""

    def __init__(self, folder: Path, script: str = "echo installed > installed.txt") -> None:
        self.seen: list[str] = []
        """Everything that arrived: heads of requests, and their bodies."""
        self.files = {f"/files/{WHEEL}": wheel("shoplib", "needed"), f"/files/{NEEDED}": wheel("needed")}
        self.files[f"/npm/odd/-/{TARBALL}"] = tarball(script)
        self.integrity = (
            "sha512-" + base64.b64encode(hashlib.sha512(self.files[f"/npm/odd/-/{TARBALL}"]).digest()).decode()
        )
        self.digest = hashlib.sha256(self.files[f"/files/{WHEEL}"]).hexdigest()
        authority = trustme.CA()
        self.authority = folder / "index-authority.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.base = f"https://localhost:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def end(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()

    def page(self, path: str) -> tuple[int, str, bytes]:
        """Status, type or place of a redirect, and answer."""
        if path in self.files:
            return 200, "application/octet-stream", self.files[path]
        links = {"/simple/shoplib/": WHEEL, "/simple/needed/": NEEDED}
        if path in links:
            file = f"/files/{links[path]}"
            digest = hashlib.sha256(self.files[file]).hexdigest()
            return 200, "text/html", f'<a href="../..{file}#sha256={digest}">{links[path]}</a>'.encode()
        if path == "/npm/odd":
            place = f"{self.base}/npm/odd/-/{TARBALL}"
            version = {"name": "odd", "version": "1.0.0", "dist": {"tarball": place, "integrity": self.integrity}}
            version["hasInstallScript"] = True
            told = {"name": "odd", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
            return 200, "application/json", json.dumps(told).encode()
        if path == "/npm/even":
            told = {"name": "even", "dist-tags": {"latest": "2.0.0"}, "versions": {"2.0.0": {"version": "2.0.0"}}}
            return 200, "application/json", json.dumps(told).encode()
        if path == "/simple/moved/":
            return 302, f"{self.base}/simple/elsewhere/", b""
        return 404, "text/plain", b"no"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        index = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                index.seen.append(f"{self.requestline}\n{self.headers}\n{body!r}")
                status, kind, answer = index.page(self.path)
                self.send_response(status)
                self.send_header("location" if status == 302 else "content-type", kind)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer)

            do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - http.server wants these names

            def log_message(self, *_: object) -> None:
                return

        return Handler
