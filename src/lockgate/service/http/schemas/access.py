"""The API's records of the server itself: the caller, its health, and its events."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from lockgate.service.http.auth.tokens import Scope
from lockgate.service.http.schemas import Given, Model
from lockgate.service.http.views.display_values import Shown


class Login(Given):
    """The token of a one-time link."""

    token: str = Field(min_length=1, max_length=200)


class LoggedIn(Model):
    """A session of the dashboard has begun; its cookie came with this answer."""

    csrf: str = Field(description="Goes into the header `X-CSRF-Token` of every request. It is told only here.")
    expires_at: datetime


class CurrentUser(Model):
    """The caller."""

    user: Shown = Field(description="The person's name on this machine, or the token's.")
    kind: Literal["person", "token"]
    scopes: list[Scope]
    expires_at: datetime | None


class Health(Model):
    """The server's health."""

    version: str
    ready: bool = Field(description="Whether anything was recorded yet.")
    problem: Shown = Field(description="Why the state cannot be read; empty where it can.")
    sessions: int
    live: int
    records: int = Field(description="Records of the audit.")
    pending: int
    now: datetime


class EventNotice(Model):
    """The content of an event of `/events`."""

    seq: int = Field(description="The record of the audit that it is about.")
    at: datetime
    session: Shown
    event: Shown = Field(description="The record's event: decision, outcome, asked, answered, approve, deny ...")
    approval: str | None
