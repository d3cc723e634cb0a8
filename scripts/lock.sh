#!/usr/bin/env bash
# Writes requirements.lock (what an installed Lockgate needs) and requirements-dev.lock (and what its developers need)
# from pyproject.toml, with hashes and with no address of any index. Locks with the oldest Python that is supported, so
# that back ports which only it needs are in. UPGRADE=1 takes the newest versions.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ! -x .venvs/lock/bin/pip-compile ]]; then
  "${PYTHON:-python3.11}" -m venv .venvs/lock
  .venvs/lock/bin/python -m pip install --quiet --disable-pip-version-check 'pip-tools==7.6.2'
fi
compile() {
  CUSTOM_COMPILE_COMMAND="make lock" .venvs/lock/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe \
    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --resolver=backtracking ${UPGRADE:+--upgrade} "$@"
}
compile --output-file=requirements.lock pyproject.toml

# pip-compile reads no dependency groups, so the group is handed to it as a requirements file.
group=.venvs/lock/dev.in
.venvs/lock/bin/python -I -c '
import tomllib
with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["dependency-groups"]["dev"], sep="\n")
' >"$group"
compile --no-annotate --output-file=requirements-dev.lock --constraint=requirements.lock pyproject.toml "$group"
