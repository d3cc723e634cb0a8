"""Writes to GitHub's REST API. It follows no redirect, so that the token reaches no other place.

Source: https://docs.github.com/en/rest/using-the-rest-api/getting-started-with-the-rest-api
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

import click

from lockgate.resources.loopback import is_loopback

_SECONDS = 30
_MOST = 4 * 1024 * 1024
"""Bytes of an answer."""
_DONE = (200, 201)
_TOKEN = re.compile(r"[A-Za-z0-9_.-]{10,2000}")


class ServiceApi:
    """The API of one server, with one token."""

    def __init__(self, address: str, token: str) -> None:
        """Connect to nothing yet.

        Args:
            address: As ``GITHUB_API_URL`` has it.
            token: The job's token.

        Raises:
            ClickException: One of them is none.
        """
        url = urlsplit(address)
        plain = url.scheme == "http" and is_loopback(url.hostname or "")
        if not url.hostname or not (plain or url.scheme == "https") or url.username or url.query or url.fragment:
            raise click.ClickException("GITHUB_API_URL is no address of an API: https://HOST/PATH")
        if not _TOKEN.fullmatch(token):
            raise click.ClickException("there is no token: give this step GH_TOKEN: ${{ github.token }}")
        self._host, self._port, self._plain, self._path = url.hostname, url.port, plain, url.path.rstrip("/")
        self._headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "User-Agent": "lockgate",
            "X-GitHub-Api-Version": "2022-11-28",
        }

    def post(self, path: str, body: Mapping[str, Any]) -> None:
        """Post to the service.

        Args:
            path: What is asked, from the API's root.
            body: The request's values.

        Raises:
            ClickException: It was not done, or nobody knows.
        """
        connection = self._connection()
        try:
            connection.request("POST", self._path + path, json.dumps(body).encode(), self._headers)
            answer = connection.getresponse()
            answer.read(_MOST)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise click.ClickException(f"the service cannot be reached: {reason}") from None
        finally:
            connection.close()
        if answer.status not in _DONE:
            raise click.ClickException(f"the service did not do it: it answers {answer.status} to POST {path}")

    def _connection(self) -> HTTPConnection:
        if self._plain:
            return HTTPConnection(self._host, self._port, timeout=_SECONDS)
        return HTTPSConnection(self._host, self._port, timeout=_SECONDS, context=ssl.create_default_context())
