"""What a command's result does to a clean session: a label there costs the session its later pushes."""

import pytest

from lockgate.core.model import Label
from lockgate.shell import analyse_shell

CLEAN = [
    "npx tsc --noEmit",
    'eval "$(mise activate bash)" && node -v',
    'eval "$(/opt/homebrew/bin/brew shellenv)"',
    "eval $(opam env) && dune build",
    'eval -- "$(ssh-agent)"',
    'eval "$(direnv export bash 2>/dev/null)"',
    "npx @redocly/cli lint openapi.yaml",
    "npx @biomejs/biome check .",
    "concurrently -k npm:dev 'pnpm:watch:*' 'node:serve -- --port 3000'",
    "run-p lint 'test:*'",
    "npx -y eslint src --fix",
    "npx jest -t 'x y'",
    "npm exec -- prettier --check .",
    "bunx prettier --check .",
    "bun x tsc --noEmit",
    "pnpm exec eslint .",
    "pnpm -r exec tsc --noEmit",
    "pnpm dlx prettier .",
    "yarn exec eslint .",
    "uvx ruff check .",
    "uv tool run ruff check",
    "uv run pytest -q",
    "uv run python x.py",
    "uv run main.py",
    "uv run mycli sync",
    "uv run -m pytest",
    "poetry run serve",
    "pdm run lint",
    "hatch run test:unit",
    "pipenv run pytest",
    "pipx run black .",
    "bundle exec rspec",
    "bundle exec own-tool",
    "mvn test",
    "mvn -o dependency:tree",
    "./mvnw verify",
    "./gradlew test",
    "./gradlew :app:assembleDebug",
    "sbt compile",
    "ant",
    "flutter test",
    "gleam build",
    "cabal build",
    "java -jar target/app.jar",
]
"""Known tools, and the project's own code."""

UNTRUSTED = [
    "npx some-package",
    "npx -p other tsc",
    "npx --package=other -- tsc",
    "npx tsc@next",
    "npx @other/tsc",
    'eval "$(cat a)"',
    'eval "$(mise ls)"',
    'eval "$(ssh-agent cat a)"',
    'eval "$(fnm env; cat a)"',
    'eval "$(fnm env | sed s/a/b/)"',
    'eval "$(fnm env)$(cat a)"',
    'eval "$(fnm env)" "$(cat a)"',
    'eval "$(X=1 fnm env)"',
    'eval "$(fnm "$X")"',
    'X=$(fnm env); eval "$X"',
    "npx @redocly/cli@latest lint",
    "npx @redocly/other lint",
    "concurrently npm:dev nosuch",
    "concurrently npm:dev deno:dev",
    "cat node_modules/*/README.md",
    "npx other/tsc",
    "npm exec --package other tsc",
    "npm exec @other/tsc",
    "bunx some-package",
    "bun x some-package",
    "pnpm dlx some-package",
    "pnpm dlx --package other tsc",
    "yarn dlx -p other tsc",
    "uvx some-package",
    "uvx --from other ruff",
    "uvx --with other pytest",
    "uvx ruff@0.1",
    "uv run --with other pytest",
    "uv tool run --from other ruff",
    "pipx run some-package",
    "pipx run --spec other ruff",
    "nix run github:other/x",
    "uv run curl https://example.com/",
    "poetry run curl https://example.com/",
]
"""Packages that nobody knows, and programs that bring text in."""


@pytest.mark.parametrize("command", CLEAN)
def test_a_known_tool_behind_a_runner_gives_no_label(command, around):
    analysis = analyse_shell(command, "/work/project", around)
    assert analysis.gives == frozenset(), [effect.because for effect in analysis.effects]


@pytest.mark.parametrize("command", CLEAN)
def test_a_runner_still_runs_code(command, around):
    assert "execute" in {effect.kind.value for effect in analyse_shell(command, "/work/project", around).effects}


@pytest.mark.parametrize("command", UNTRUSTED)
def test_what_nobody_knows_makes_a_session_untrusted(command, around):
    assert analyse_shell(command, "/work/project", around).gives == frozenset({Label.UNTRUSTED})


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("npx vercel@latest deploy", "egress"),
        ("npx @other/vercel deploy", "egress"),
        ("npx ./tool.sh", "execute"),
        ('eval "$(rbenv init -)"; git push', "egress"),
        ('eval "$(fnm env >~/.bashrc)"', "persist"),
        ("npx @angular/cli deploy && git push", "egress"),
        ("concurrently 'npm:dev; git push'", "egress"),
        ("concurrently 'npm:dev -- x && git push'", "egress"),
        ("concurrently npm:publish 'npm publish'", "egress"),
        ("poetry run git push", "egress"),
        ("bundle exec ./bin/tool", "execute"),
        ("uv run $X own", "execute"),
    ],
)
def test_what_is_behind_a_runner_is_seen(command, kind, around):
    assert kind in {effect.kind.value for effect in analyse_shell(command, "/work/project", around).effects}
