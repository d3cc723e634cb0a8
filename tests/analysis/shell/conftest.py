import pytest

from lockgate.resources.host_view import HostView
from support.repositories import Ordinary


@pytest.fixture(scope="session")
def around():
    return HostView(
        home="/home/user",
        workspace="/work/project",
        own_paths=("/home/user/.config/lockgate",),
        repository=lambda _: Ordinary("/work/project"),
    )
