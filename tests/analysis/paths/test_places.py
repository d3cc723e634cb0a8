"""The table of places: its schema, its freshness, its own examples, and everyday files that must be nothing."""

from __future__ import annotations

import pytest

from lockgate.resources.data import build
from lockgate.resources.host_view import HostView
from lockgate.resources.paths import read_effects, write_effects
from lockgate.resources.places import places
from support import tables

WORK = "/home/user/work"
AROUND = HostView(home="/home/user", workspace=WORK)
ROWS = tables.read(build.HERE / "places.yaml")
READ = {"secret", "transcript", "vendored"}


def rules(row: dict, path: str) -> set[str]:
    effects = read_effects if row["kind"] in READ else write_effects
    return {effect.rule for effect in effects(path, WORK, AROUND)}


@pytest.mark.parametrize("table", build.tables(), ids=lambda table: table.stem)
def test_compiled_table_is_fresh_and_valid(table):
    assert table.with_suffix(".json").read_text(encoding="utf-8") == build.compile_table(table)


def test_names_are_unique():
    assert len({place.name for place in places()}) == len(places())


@pytest.mark.parametrize(
    ("row", "path"), [pytest.param(row, path, id=f"{row['name']}:{path}") for row in ROWS for path in row["yes"]]
)
def test_example_is_found(row, path):
    assert f"place:{row['name']}" in rules(row, path)


@pytest.mark.parametrize(
    ("row", "path"), [pytest.param(row, path, id=f"{row['name']}:{path}") for row in ROWS for path in row["no"]]
)
def test_harmless_example_is_nothing(row, path):
    assert rules(row, path) == set()


_PLAIN = """
README.md LICENSE CHANGELOG.md CONTRIBUTING.md Makefile Dockerfile docker-compose.yml package.json package-lock.json
tsconfig.json pyproject.toml setup.cfg requirements.txt uv.lock Cargo.toml Cargo.lock go.mod go.sum Gemfile pom.xml
build.gradle CMakeLists.txt src/main.py src/app.ts src/index.js src/lib.rs cmd/main.go src/auth/token.py
src/auth/password_reset.tsx src/keys/index.ts src/secrets_manager.py src/credentials_provider.go src/environment.ts
src/env.py config/settings.py config/database.yml tests/test_secrets.py tests/conftest.py tests/fixtures/user.json
tests/data/page.html docs/index.md docs/security.md docs/ssh.md .gitignore .gitattributes .dockerignore .editorconfig
.prettierrc .eslintrc.json .nvmrc .python-version .tool-versions .env.example .env.sample .env.template
.env.test.example public/index.html assets/logo.svg data/users.csv data/model.bin notebooks/eda.ipynb
migrations/0001_initial.sql schema.graphql openapi.yaml k8s/deployment.yaml terraform/main.tf scripts/deploy.sh
scripts/hooks.py bin/run app/[slug]/page.tsx build/out.js dist/bundle.js coverage/index.html
.github/ISSUE_TEMPLATE/bug.md .github/FUNDING.yml .vscode/extensions.json .claude/notes.md target/debug/app
node_modules/x/index.js /tmp/scratch.txt /tmp/build/out.o /var/tmp/x /home/user/notes.txt
/home/user/Documents/report.md /dev/null /dev/stdout /home/user/.cache/pip/x /home/user/.claude/plans/plan.md
/home/user/.claude/plans/1.md ~/projects/other/main.py
"""
EVERYDAY = [*_PLAIN.split(), "src/a b.py", "docs/naïve.md", "文档/说明.md", ".", "..", "src/", "./src/../README.md"]


@pytest.mark.parametrize("path", EVERYDAY)
def test_everyday_file_is_nothing(path):
    assert read_effects(path, WORK, AROUND) == ()
    assert write_effects(path, WORK, AROUND) == ()
