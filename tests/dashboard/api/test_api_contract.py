"""The published contract: it is what the server does, with inputs that nobody thought of, and it is not stale."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.specs.openapi.checks import ignored_auth

from lockgate.service.http.auth.sessions import Access
from lockgate.service.http.auth.tokens import add
from lockgate.service.http.schemas import build
from support.api_server import Machine, Server

CONTRACT = json.loads(build.PLACE.read_text())
_LIMITS = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
SCHEMA = schemathesis.openapi.from_dict(CONTRACT).exclude(path_regex="/events$")


@pytest.fixture(scope="module")
def token(machine: Machine) -> str:
    """Of a program that may do everything, on a machine on which something has happened."""
    machine.session("s1")
    machine.decided()
    machine.asked()
    return add(machine.store, "fuzzer", "approve")


@SCHEMA.parametrize()
@_LIMITS
def test_the_server_keeps_the_contract(case: Case, server: Server, token: str) -> None:
    # Whether a login is needed is asked below; here the right token replaces the wrong ones that would be tried.
    headers = {"Authorization": f"Bearer {token}"}
    case.call_and_validate(base_url=server.url, headers=headers, excluded_checks=[ignored_auth])


@SCHEMA.exclude(path_regex="/login$").parametrize()
@settings(_LIMITS, max_examples=2)
def test_without_a_login_every_input_gets_the_same_answer(case: Case, server: Server) -> None:
    answer = case.call(base_url=server.url)
    assert answer.status_code in (401, 413, 415)
    assert answer.headers["content-type"] in ("application/problem+json", ["application/problem+json"])


def test_the_published_contract_is_not_stale() -> None:
    assert build.main(["--check"]) == 0
    assert build.contract() == build.PLACE.read_text()


def test_a_stale_contract_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "PLACE", tmp_path / "api.json")
    assert build.main(["--check"]) == 1
    assert build.main() == 0
    assert build.main(["--check"]) == 0


def test_the_server_publishes_it(server: Server) -> None:
    assert server.person().get("openapi.json").json() == CONTRACT


def test_every_model_and_route_is_described() -> None:
    for name, schema in CONTRACT["components"]["schemas"].items():
        assert schema.get("description"), name
    for path, methods in CONTRACT["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), f"{method} {path}"
            assert set(operation["responses"]) >= {"401", "403", "421", "422", "500"}, f"{method} {path}"
            assert not any("HTTPValidationError" in json.dumps(each) for each in operation["responses"].values())


def test_the_documentation_names_every_route() -> None:
    text = (Path(__file__).parents[3] / "docs" / "api-routes.md").read_text()
    told = set(re.findall(r"^\| `(GET|POST) (/[^` ]*)`", text, re.MULTILINE))
    routes = {
        (method.upper(), re.sub(r"\{approval\}", "{id}", path.removeprefix("/api/v1")))
        for path, methods in CONTRACT["paths"].items()
        for method in methods
    }
    assert told - {("GET", "/openapi.json")} == routes


def test_nobody_has_to_log_in_to_log_in() -> None:
    security = {
        f"{method} {path}": operation.get("security", CONTRACT["security"])
        for path, methods in CONTRACT["paths"].items()
        for method, operation in methods.items()
    }
    assert [name for name, needed in security.items() if not needed] == ["post /api/v1/login"]
    assert Access("ann").person([""], "") is None
