"""The files that make the images: what they mount is what the host makes, and the agent's side can write none of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from lockgate.service.containers.groups import ContainerGroup

DOCKER = Path(__file__).parents[2] / "docker"


def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def test_the_agent_mounts_what_the_host_makes_for_a_group() -> None:
    mounts = {each["target"]: each for each in compose()["services"]["agent"]["volumes"] if each["source"] == "ipc"}
    group = ContainerGroup("web", b"", "web", 0)
    assert {target for _, target, _ in group.mounts} == set(mounts)
    for source, target, mode in group.mounts:
        assert mounts[target]["volume"] == {"subpath": source}
        assert mounts[target].get("read_only", False) == (mode == "ro")


def test_every_service_is_hardened_and_the_agent_reaches_nobody() -> None:
    said = compose()
    for service in said["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not {"privileged", "pid", "ipc", "userns_mode", "ports"} & set(service)
        assert not [each for each in service["volumes"] if each["type"] != "volume"]
    assert said["services"]["agent"]["networks"] == ["inside"]
    assert said["networks"]["inside"] == {"internal": True}


def test_the_state_is_no_agents() -> None:
    sources = [each["source"] for each in compose()["services"]["agent"]["volumes"]]
    assert "state" not in sources
    assert all("volume" in each for each in compose()["services"]["agent"]["volumes"] if each["source"] == "ipc")


def test_both_images_end_as_a_user_without_rights() -> None:
    text = (DOCKER / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    assert {word for word, _ in lines} <= {
        "FROM",
        "RUN",
        "WORKDIR",
        "COPY",
        "ENV",
        "USER",
        "VOLUME",
        "ENTRYPOINT",
        "CMD",
    }
    stages: dict[str, list[tuple[str, str]]] = {}
    for word, rest in lines:
        if word == "FROM":
            name = rest.split()[-1]
        stages.setdefault(name, []).append((word, rest))
    for name in ("gate", "agent"):
        assert [rest for word, rest in stages[name] if word == "USER"] == ["10001:10001"]
