"""The pages and scripts as they are served: exact types, validators, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from lockgate.service.http.static_files import FOLDER
from support.api_server import Server

FILES = sorted(str(path.relative_to(FOLDER)) for path in Path(FOLDER).rglob("*") if path.is_file())
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_served_as_it_is(server: Server, file: str) -> None:
    answer = httpx.get(f"{server.url}/{file}")
    assert answer.status_code == 200
    assert answer.content == Path(FOLDER, file).read_bytes()
    assert answer.headers["content-type"] == TYPES[Path(file).suffix]
    assert answer.headers["cache-control"] == "no-cache"
    assert "set-cookie" not in answer.headers


def test_the_index_is_the_page(server: Server) -> None:
    assert httpx.get(f"{server.url}/").content == Path(FOLDER, "index.html").read_bytes()


def test_what_has_not_changed_is_not_sent_again(server: Server) -> None:
    first = httpx.get(f"{server.url}/")
    tag = first.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
    for sent in (tag, f"W/{tag}", f'"other", {tag}'):
        again = httpx.get(f"{server.url}/", headers={"If-None-Match": sent})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert "content-security-policy" in again.headers
    assert httpx.get(f"{server.url}/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_head_has_no_body(server: Server) -> None:
    answer = httpx.head(f"{server.url}/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) == Path(FOLDER, "index.html").stat().st_size


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_a_page_can_only_be_read(server: Server, method: str) -> None:
    answer = httpx.request(method, f"{server.url}/")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.headers["content-type"] == "application/problem+json"


def test_no_page_holds_a_script_or_a_style_of_its_own() -> None:
    """The policy forbids them, so that they would do nothing; and an attacker's would look like them."""
    for file in FILES:
        text = Path(FOLDER, file).read_text()
        if file.endswith(".html"):
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", text), file
        if file.endswith(".js"):
            assert not re.search(
                r"\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text
            ), file
