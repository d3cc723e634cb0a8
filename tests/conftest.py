"""For all tests: a home folder of their own, and the same examples on every machine of CI."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import settings

from support.dispositions import let_children_hear
from support.gates import end_gates
from support.postgres import postgres_server, postgres_url  # noqa: F401 - fixtures for every folder
from support.start_variables import forget_start

settings.register_profile("developer", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)  # what `make room` loads
settings.register_profile("ci", deadline=None, derandomize=True)
_IN_CI = "TESTS_RUN_IN_CI"
"""Set for the processes among which the tests are shared out: ``CI`` itself is taken from them below."""
if os.environ.get("CI"):
    os.environ[_IN_CI] = "1"
settings.load_profile("ci" if os.environ.get(_IN_CI) else "developer")

_FOREIGN = ("CLAUDE", "LOCKGATE", "XDG_", "GIT_", "ANTHROPIC", "GITHUB_", "GITLAB_")
"""Variables of the person's own session that would change what is tested."""
_OF_CI = frozenset(
    ("CI", "TF_BUILD", "JENKINS_NODE_COOKIE", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID", "bamboo_buildKey")
)
"""Variables of a CI job: in one, prompts are nobody's."""

_SAMPLE = 4
"""Of how many rows `make room` runs one, in a table with the marker ``sampled``."""

_SANDBOXED = (
    "test_contain.py",
    "test_containment.py",
    "test_exfiltration.py",
    "test_gate_disk.py",
    "test_honest_projects.py",
)
"""Modules that make namespaces."""


def pytest_configure(config: pytest.Config) -> None:
    """Lead every test away from the person's own settings, state and identity, and from how the tests were started."""
    let_children_hear()
    for name in [name for name in os.environ if name.startswith(_FOREIGN) or name in _OF_CI]:
        del os.environ[name]
    forget_start(_OF_CI | {"GITHUB_ACTIONS", "GITLAB_CI"})
    home = tempfile.mkdtemp(prefix="lockgate-tests-")
    os.environ["HOME"] = home
    # Else each test that runs a hook would leave a resident gate behind; those that are about it take this away.
    os.environ["LOCKGATE_RESIDENT"] = "off"
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))


@pytest.fixture(scope="session", autouse=True)
def no_gate_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """End resident gates that hooks with an environment of a test's own have started."""
    yield
    end_gates(tmp_path_factory.getbasetemp())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark rows that quick tests leave out, and leave out what needs bubblewrap where there is none to install."""
    _sample(items)
    if sys.platform == "linux":
        return
    out = [item for item in items if isinstance(item, pytest.Function) and _needs_a_sandbox(item)]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]


def _sample(items: list[pytest.Item]) -> None:
    """Count the rows of each table that is sampled, and mark all but each fourth as slow. The first is always quick."""
    rows: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("sampled") and hasattr(item, "callspec") and not item.get_closest_marker("slow"):
            table = item.nodeid.partition("[")[0]
            if rows[table] % _SAMPLE:
                item.add_marker(pytest.mark.slow)
            rows[table] += 1


def _needs_a_sandbox(item: pytest.Function) -> bool:
    name = item.path.name
    if item.path.parent.name in ("containers", "escape") and name != "test_seatbelt.py":
        return True
    if name in _SANDBOXED:
        return True
    modules = {getattr(value, "__module__", "") for value in vars(item.module).values()}
    return not modules.isdisjoint({"support.bash_oracle", "support.stub_oracle"})
