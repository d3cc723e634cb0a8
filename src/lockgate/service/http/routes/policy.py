"""The routes about policy, patterns, what-if, the audit chain and the doctor."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from lockgate.core.model import ToolCall
from lockgate.service.http.background_checks import BackgroundChecks
from lockgate.service.http.context import DashboardContext
from lockgate.service.http.problems import common_responses, document_responses
from lockgate.service.http.routes.sessions import QueryParameters
from lockgate.service.http.schemas.calls import EffectShown
from lockgate.service.http.schemas.policy import Audit, CallExplanation, Doctor, Patterns, PolicyInfo, WhatIf, Workspace
from lockgate.service.http.views import policy
from lockgate.service.http.views.call_spans import mark_effects


class PolicyQuery(QueryParameters):
    """Which workspace."""

    workspace: str = Field(default="", max_length=4096, description="One of `workspaces`; empty for the home folder.")


class PatternQuery(PolicyQuery):
    """Which rules."""

    group: str = Field(default="", max_length=100)
    severity: str = Field(default="", max_length=20)
    text: str = Field(default="", max_length=200, description="Stands in id, type, provider or group.")
    found: bool = Field(default=False, description="Only rules that have found something.")
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=2**31)


def router(dashboard: DashboardContext) -> APIRouter:
    """The routes, for one dashboard."""
    api = APIRouter(responses=common_responses())
    _add_policy(api, dashboard)
    _add_checks(api, BackgroundChecks(dashboard))
    return api


def _add_policy(api: APIRouter, dashboard: DashboardContext) -> None:
    tally = policy.Tally()

    def list_known() -> list[str]:
        with dashboard.look() as tx:
            return policy.workspaces(tx)

    @api.get("/policy", tags=["policy"], responses=document_responses(404))
    def show_policy(query: Annotated[PolicyQuery, Query()]) -> PolicyInfo:
        """The policy tables, and every other value that holds in a workspace."""
        return policy.policy(dashboard.where, query.workspace, list_known())

    @api.get("/patterns", tags=["policy"], responses=document_responses(404))
    def show_patterns(query: Annotated[PatternQuery, Query()]) -> Patterns:
        """The pattern library as it holds in a workspace, and how often each rule has found something."""
        with dashboard.look() as tx:
            if tx is not None:
                tally.count(tx)
        return policy.patterns(dashboard.where, query.workspace, list_known(), tally, _filter_of(query))

    @api.post("/explain", tags=["policy"], responses=document_responses(404))
    def explain(call: WhatIf) -> CallExplanation:
        """What a call could do, and what the gate would answer in each state. Nothing is run."""
        folder = policy.folder_of(dashboard.where, call.workspace, list_known())
        return _explain(dashboard, ToolCall(call.tool, _input(call), folder))


def _filter_of(query: PatternQuery) -> policy.RuleFilter:
    return policy.RuleFilter(query.group, query.severity, query.text, query.found, query.limit, query.offset)


def _input(call: WhatIf) -> dict[str, Any]:
    short = {} if call.command is None else {"command": call.command}
    return {**(call.input or {}), **short}


def _explain(dashboard: DashboardContext, call: ToolCall) -> CallExplanation:
    told = dashboard.tools.explain(call)
    effects = [
        EffectShown(row=each["row"], what=each["what"], rule=each["rule"], because=each["because"], gives=each["gives"])
        for each in told["effects"]
    ]
    shown = mark_effects(dashboard.where, call.tool, told["tool_input"], call.cwd, effects, whole=True)
    return CallExplanation(call=shown, **{name: told[name] for name in CallExplanation.model_fields if name != "call"})


def _add_checks(api: APIRouter, checks: BackgroundChecks) -> None:
    @api.get("/audit", tags=["state"])
    def show_audit() -> Audit:
        """The audit chain's head, and the last check of it."""
        return checks.audit()

    @api.post("/audit/verify", tags=["state"], responses=document_responses(409))
    def verify_audit() -> Audit:
        """Check the whole chain: that no record was changed, removed, added or moved."""
        return checks.verify()

    @api.get("/doctor", tags=["state"])
    def show_doctor() -> Doctor:
        """What the doctor found last."""
        return checks.doctor()

    @api.post("/doctor", tags=["state"], responses=document_responses(404, 409))
    def run_doctor(asked: Workspace) -> Doctor:
        """Look whether the protection is in force. A call that must be refused goes through the registered hooks."""
        return checks.examine(asked.workspace)
