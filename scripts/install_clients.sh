#!/usr/bin/env bash
# Installs the agent clients that the end-to-end tests run into .clients/, from the npm registry, with the versions and
# hashes in tests/e2e/clients/; with two words, what another folder pins into another one. No script of any package is run, so that `claude` of the package is a stub: the tests run the
# program of the platform's own package (tests/e2e/harness/clients.py), and nothing is linked into .bin. Does nothing when
# nothing changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

pins=${1:-tests/e2e/clients}
place=${2:-.clients}
if cmp -s "$pins/package-lock.json" "$place/.installed"; then
  exit 0
fi
command -v npm >/dev/null || {
  echo "install_clients: npm is missing; run scripts/setup_system.sh" >&2
  exit 1
}
echo "install_clients: installing what $pins pins into $place"
mkdir -p "$place"
cp "$pins/package.json" "$pins/package-lock.json" "$place/"
npm ci --prefix "$place" --ignore-scripts --no-bin-links --no-audit --no-fund --no-update-notifier --loglevel=error
cp "$pins/package-lock.json" "$place/.installed"
