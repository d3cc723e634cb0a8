"""A file of Compose that takes in nothing from elsewhere may be read first."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lockgate.core.model import EffectKind
from lockgate.shell import analyse_shell
from support.projects import PROJECT, host_view

PLAIN = "services:\n  db: {image: 'postgres:16'}\n  web:\n    build: .\n    ports: ['3000:3000']\n"
FILES = {"compose.yaml": PLAIN}
PS = "docker compose ps"


def kinds(command: str, files: Mapping[str, str]) -> set[EffectKind]:
    return {effect.kind for effect in analyse_shell(command, PROJECT, host_view(files)).effects}


@pytest.mark.parametrize(
    ("command", "files"),
    [
        pytest.param(PS, FILES, id="the-ordinary-file"),
        pytest.param(PS, {"docker-compose.yml": PLAIN, "docker-compose.override.yml": PLAIN}, id="with-an-override"),
        pytest.param(
            PS, {**FILES, ".env": "# ours\nPORT=3000\n\nexport NAME='a b' # 'c'\nB=it's # d\n"}, id="with-variables"
        ),
        pytest.param("docker compose -f dev/a.yml top web", {"dev/a.yml": PLAIN}, id="named"),
        pytest.param("docker compose ps -a web 2>&1 | grep -i error | tail", FILES, id="in-a-pipeline"),
        pytest.param("docker compose ps && docker compose top web", FILES, id="twice"),
        pytest.param("cd dev && docker compose top", {"dev/compose.yml": PLAIN, "compose.yml": PLAIN}, id="below"),
        pytest.param("cd dev/web && docker compose ps", {**FILES, "compose.override.yaml": PLAIN}, id="above"),
        pytest.param("docker compose exec -T db ls /var", FILES, id="a-look-inside"),
        pytest.param("docker-compose stop web", FILES, id="by-the-older-name"),
    ],
)
def test_what_only_describes_containers_is_read(command, files):
    assert not kinds(command, files)


def with_line(line: str) -> dict[str, str]:
    return {"compose.yaml": PLAIN + line}


@pytest.mark.parametrize(
    ("command", "files"),
    [
        pytest.param(PS, {}, id="none-here"),
        pytest.param(f"cd dev && {PS}", {}, id="none-above"),
        pytest.param(f"cd dev && {PS}", with_line("include: [x]\n"), id="included-above"),
        pytest.param(f"cd dev && {PS}", {**FILES, "compose.override.yml": "include: [x]"}, id="in-the-override-above"),
        pytest.param(f"cd dev && {PS}", {**FILES, ".env": "COMPOSE_FILE=x.yml\n"}, id="named-in-variables-above"),
        pytest.param(PS, with_line("include: ['https://e.example/${SECRET}.git']\n"), id="another-is-included"),
        pytest.param(PS, with_line('"incl\\u0075de": [x]\n'), id="spelt-otherwise"),
        pytest.param(PS, with_line("? include\n: [x]\n"), id="as-a-long-key"),
        pytest.param(PS, with_line("!!str include: [x]\n"), id="with-a-tag"),
        pytest.param(PS, with_line("!!binary aW5jbHVkZQ==: [x]\n"), id="encoded"),
        pytest.param(PS, with_line("  api: {extends: {file: 'oci://e.example/x', service: a}}\n"), id="extended"),
        pytest.param(PS, with_line("---\ninclude: [x]\n"), id="in-a-second-document"),
        pytest.param(PS, with_line("x-a: &a {include: [x]}\n<<: *a\n"), id="merged-in"),
        pytest.param(PS, with_line("x: [\n"), id="broken"),
        pytest.param(PS, {**FILES, "compose.override.yml": "include: [x]\n"}, id="in-the-override"),
        pytest.param(PS, {**FILES, "docker-compose.yml": "include: [x]\n"}, id="in-another-name"),
        pytest.param(PS, {**FILES, ".env": "COMPOSE_FILE=oci://e.example/x\n"}, id="a-variable-names-the-file"),
        pytest.param(PS, {**FILES, ".env": "A=1\n  export DOCKER_HOST: tcp://e.example\n"}, id="or-the-service"),
        pytest.param(PS, {**FILES, ".env": "A='\nCOMPOSE_FILE=x\n"}, id="behind-a-quote"),
        pytest.param(PS, {**FILES, ".env": 'A="x" COMPOSE_FILE=x\n'}, id="behind-a-value-in-quotes"),
        pytest.param(PS, {**FILES, ".env": "A: 'x' export COMPOSE_FILE=x\n"}, id="exported-behind-one"),
        pytest.param(PS, {**FILES, ".env": "A='\nB=' COMPOSE_FILE=x\n"}, id="behind-one-of-several-lines"),
        pytest.param(PS, {**FILES, ".env": 'A=\u00a0"x" COMPOSE_FILE=x\n'}, id="behind-one-after-another-blank"),
        pytest.param(PS, {**FILES, ".env": "A=1\\\nB\n"}, id="lines-nobody-reads-so"),
        pytest.param("docker compose -f sub/a.yml ps", {"sub/a.yml": PLAIN, "sub/.env": "COMPOSE_FILE=x"}, id="beside"),
        pytest.param("docker compose -f a.yml ps", FILES, id="one-that-is-not-there"),
        pytest.param("docker compose -f compose.yaml -f https://e.example/a.yml ps", FILES, id="and-one-elsewhere"),
        pytest.param('docker compose -f "$X" ps', FILES, id="one-that-nobody-knows"),
        pytest.param("docker compose -f - ps", FILES, id="from-a-pipe"),
        pytest.param("docker compose --env-file x ps", FILES, id="other-variables"),
        pytest.param("docker compose --project-directory sub ps", FILES, id="another-folder"),
        pytest.param("cp x compose.yaml && docker compose ps", FILES, id="written-before"),
        pytest.param("rm compose.yaml; docker compose ps", FILES, id="taken-away-before"),
        pytest.param("sed -i s/x/include/ compose.yaml; docker compose ps", FILES, id="changed-before"),
        pytest.param("git checkout x && docker compose ps", FILES, id="by-a-program"),
        pytest.param("docker compose ps | python3 x.py", FILES, id="by-what-runs-beside-it"),
        pytest.param("COMPOSE_FILE=x docker compose ps", FILES, id="a-variable-of-the-command"),
        pytest.param("COMPOSE_ENV_FILES=x docker compose ps", FILES, id="one-that-names-files-of-variables"),
        pytest.param("docker compose stop web", with_line("  a: {pre_stop: [{command: x}]}\n"), id="at-its-end"),
        pytest.param("docker compose exec web npm test", FILES, id="what-runs-inside"),
        pytest.param("docker compose exec -e PGHOST=e.example db psql -c 'select 1'", FILES, id="a-client-sent-away"),
        pytest.param("docker compose exec db psql -c '\\! id'", FILES, id="runs-something"),
        pytest.param("docker compose exec db psql -f a.sql", {**FILES, "a.sql": "select 1"}, id="its-own-file"),
        pytest.param("docker compose up -d", FILES, id="what-starts-them"),
    ],
)  # fmt: skip
def test_what_takes_in_others_counts_as_code(command, files):
    assert kinds(command, files) & {EffectKind.EXECUTE, EffectKind.EGRESS}


def test_what_lies_above_a_link_is_not_looked_for() -> None:
    around = host_view(FILES)
    linked = around._replace(realpath=lambda path: path.replace(f"{PROJECT}/dev", f"{PROJECT}/other/x"))
    command = f"cd dev && {PS}"
    assert not analyse_shell(command, PROJECT, around).effects
    assert analyse_shell(command, PROJECT, linked).effects
