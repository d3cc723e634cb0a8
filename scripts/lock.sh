#!/usr/bin/env bash
# Writes requirements.lock (what an installed Lockgate needs) and requirements-dev.lock (and what its developers need)
# from pyproject.toml, with hashes and with no address of any index. One file holds for each Python from the oldest
# supported one on, down to its first patch release, and for each system: where they differ, a marker says so.
# UPGRADE=1 takes the newest versions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=0.13.9
if [[ "$(.venvs/lock/bin/uv --version 2>/dev/null)" != "uv $version "* ]]; then
  "${PYTHON:-python3}" -m venv --clear .venvs/lock
  .venvs/lock/bin/python -m pip install --quiet --disable-pip-version-check "uv==$version"
fi
compile() {
  .venvs/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    --custom-compile-command "make lock" ${UPGRADE:+--upgrade} "$@" pyproject.toml
}
compile --output-file=requirements.lock
compile --no-annotate --output-file=requirements-dev.lock --constraint=requirements.lock --group=dev
