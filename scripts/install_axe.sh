#!/usr/bin/env bash
# Installs axe-core, with which the browser tests look at the dashboard, into .axe/, from the npm registry, with the
# version and the hash in tests/dashboard/browser/axe/. Runs no script of any package. Does nothing when nothing changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

pins=tests/dashboard/browser/axe
if cmp -s "$pins/package-lock.json" .axe/.installed; then
  exit 0
fi
command -v npm >/dev/null || {
  echo "install_axe: npm is missing; run scripts/setup_system.sh" >&2
  exit 1
}
echo "install_axe: installing axe-core into .axe"
mkdir -p .axe
cp "$pins/package.json" "$pins/package-lock.json" .axe/
npm ci --prefix .axe --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error
cp "$pins/package-lock.json" .axe/.installed
