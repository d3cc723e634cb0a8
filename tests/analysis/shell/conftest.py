import pytest

from lockgate.analysis.surroundings import Surroundings


@pytest.fixture(scope="session")
def around():
    return Surroundings(home="/home/user", workspace="/work/project", own_paths=("/home/user/.config/lockgate",))
