#!/usr/bin/env bash
# Makes .venv with every tool the project needs, from the lock file with hashes, and the package itself in editable form,
# with its native hook client where there is a C compiler.
# Does nothing when nothing changed. PYTHON=/path/to/python chooses the interpreter.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

supported() { # a Python that is new enough, runs (a pyenv shim may not), and can make a venv
  "$1" -I -c 'import sys, ensurepip, venv; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' 2>/dev/null
}

choose_python() {
  if [[ -n "${PYTHON:-}" ]]; then
    supported "$PYTHON" || {
      echo "setup: PYTHON=$PYTHON is not a Python 3.11 to 3.14 with venv and ensurepip" >&2
      exit 1
    }
    echo "$PYTHON"
    return
  fi
  local candidate
  for candidate in .venv/bin/python python3.14 python3.13 python3.12 python3.11 python3 python; do
    if supported "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  echo "setup: no Python 3.11 to 3.14 with venv found; install one (Debian: apt-get install python3 python3-venv;" \
    "macOS: brew install python) or set PYTHON=/path/to/python" >&2
  exit 1
}

digest() { # of all that decides what .venv holds
  "$1" -I - requirements-dev.lock pyproject.toml hatch_build.py native/*.[ch] native/compile.py <<'PY'
import hashlib, sys
total = hashlib.sha256(sys.version.encode())
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        total.update(file.read())
print(total.hexdigest())
PY
}

python=$(choose_python)
wanted=$(digest "$python")
if [[ -x .venv/bin/lockgate && "$(cat .venv/.lockgate-setup 2>/dev/null)" == "$wanted" ]]; then
  exit 0
fi
if [[ "$python" != .venv/bin/python ]]; then
  rm -rf .venv
  "$python" -m venv .venv
fi
echo "setup: installing into .venv ($(.venv/bin/python --version))"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes -r requirements-dev.lock
# Without build isolation, so that the build back end is the locked one too.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-deps --no-build-isolation --editable .
echo "$wanted" >.venv/.lockgate-setup
