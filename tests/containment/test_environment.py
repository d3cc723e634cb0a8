"""Which variables a contained command gets."""

from __future__ import annotations

import pytest

from lockgate.containment.environment import make_contained_environment

COPILOTS = (("safe.bareRepository", "explicit"), ("credential.interactive", "never"), ("core.fsmonitor", "false"))
"""What Copilot CLI 1.0.102 gives each command."""
LOGS_IN = "AUTHORIZATION: basic eDpnZWhlaW1nZWhlaW0="


def variables(*pairs: tuple[str, str]) -> dict[str, str]:
    given = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        given |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return given


def of_git(environ: dict[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in make_contained_environment(environ, "/home/ann").items()
        if name.startswith("GIT_CONFIG_")
    }


@pytest.mark.parametrize(
    ("pairs", "kept"),
    [
        pytest.param(COPILOTS, (COPILOTS[0], COPILOTS[2]), id="a setting about credentials is not missed"),
        pytest.param((("user.name", "Ann"),), (("user.name", "Ann"),), id="one"),
        pytest.param((("http.extraHeader", LOGS_IN), ("a.b", "c")), (("a.b", "c"),), id="a header logs in"),
        pytest.param((("http.https://x/.extraheader", LOGS_IN),), None, id="nothing is left"),
        pytest.param((("url.https://me:geheim@x/.insteadOf", "https://x/"),), None, id="a name with a password"),
        pytest.param((("http.proxy", "http://me:geheim1234@x:3128"),), None, id="a value with a password"),
        pytest.param((("a.password", "geheim"),), None, id="a name that says so"),
    ],
)
def test_settings_of_git_are_whole_without_those_that_let_somebody_in(
    pairs: tuple[tuple[str, str], ...], kept: tuple[tuple[str, str], ...] | None
) -> None:
    assert of_git(variables(*pairs)) == (variables(*kept) if kept else {})


@pytest.mark.parametrize("count", ["", "0", "-1", "x", "2", "\u0661", "1 ", "100000000", "9" * 5000])
def test_settings_that_git_would_refuse_are_left_out(count: str) -> None:
    assert of_git({**variables(("a.b", "c")), "GIT_CONFIG_COUNT": count}) == {}


@pytest.mark.parametrize("missing", ["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_1", "GIT_CONFIG_VALUE_0"])
def test_settings_of_which_one_is_missing_are_left_out(missing: str) -> None:
    environ = variables(*COPILOTS)
    del environ[missing]
    assert of_git(environ) == {}


def test_other_variables_stay_as_they_were() -> None:
    found = make_contained_environment(
        {"LANG": "C.UTF-8", "API_TOKEN": "x", "GIT_CONFIG_GLOBAL": "/g", "TMPDIR": "/x"}, "/home/ann"
    )
    assert {"LANG": "C.UTF-8", "GIT_CONFIG_GLOBAL": "/g", "TMPDIR": "/tmp"}.items() <= found.items()
    assert "API_TOKEN" not in found
