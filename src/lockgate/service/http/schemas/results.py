"""The API's records of results that made a session untrusted, and of endorsements."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from lockgate.core.model import Label
from lockgate.service.http.schemas import Given, Model
from lockgate.service.http.schemas.calls import Digest
from lockgate.service.http.views.display_values import Shown


class ResultInfo(Model):
    """One result that made an agent untrusted."""

    result: str = Field(description="Its id: another text or call has another. Empty where it cannot be endorsed.")
    session: Shown
    agent: Shown = Field(description="The sub-agent; empty for the main agent.")
    tool: Shown
    call: Shown = Field(description="The client's id of the call.")
    at: datetime | None = Field(description="When the call was let run.")
    sources: list[Shown] = Field(description="Where the label came from.")
    text: Shown = Field(description="Its first lines, without credentials; empty where they are not kept.")
    more: int = Field(description="How many lines follow these.")
    problem: Shown = Field(description="Why it cannot be endorsed; empty where it can.")
    shown: str = Field(description="Digest of all that is shown; a person's word must give it back.")


class Results(Model):
    """The results that made a session untrusted, oldest first."""

    items: list[ResultInfo]


class Endorse(Given):
    """A person's word that they have read exactly this, and that it is fine."""

    session: Annotated[str, Field(max_length=500)] = Field(description="`session` of the result.")
    shown: Digest = Field(description="`shown` of the result as it was looked at.")


class Endorsed(Results):
    """The labels that are left when a result was endorsed."""

    left: list[Label] = Field(description="The labels that its agent has left.")
