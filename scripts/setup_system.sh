#!/usr/bin/env bash
# Installs what the tests need from the system and no Python package has: bubblewrap (real shells run only inside it),
# zsh (differential tests), npm (to install the agent clients and axe-core), Chromium (the dashboard's tests), PostgreSQL
# (the tests of the shared store start servers of their own), gnome-keyring (the tests of a place that keeps the audit's
# head), a C compiler (the native hook client), and small programs that a minimal system may not have. Only what is
# missing.
set -euo pipefail

missing=()
command -v bwrap >/dev/null || missing+=(bubblewrap)
command -v zsh >/dev/null || missing+=(zsh)
command -v npm >/dev/null || missing+=(npm)
browser() { # the same places as tests/dashboard/browser/chromium.py
  command -v chromium >/dev/null || command -v google-chrome >/dev/null || [[ -x "/Applications/Chromium.app/Contents/MacOS/Chromium" ]] ||
    [[ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ]]
}
browser || missing+=(chromium)
database() { # the same places as tests/support/postgres.py
  command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ||
    compgen -G '/opt/homebrew/opt/postgresql@*/bin/initdb' >/dev/null || compgen -G '/usr/local/opt/postgresql@*/bin/initdb' >/dev/null
}
database || missing+=(postgresql)
command -v cc >/dev/null || missing+=(gcc libc6-dev)
command -v curl >/dev/null || missing+=(curl)
command -v openssl >/dev/null || missing+=(openssl)
command -v ps >/dev/null || missing+=(procps)
if [[ "$(uname -s)" != Darwin ]]; then
  command -v gnome-keyring-daemon >/dev/null || missing+=(gnome-keyring)
  command -v secret-tool >/dev/null || missing+=(libsecret-tools)
  command -v dbus-daemon >/dev/null || missing+=(dbus)
fi
command -v ip >/dev/null || [[ "$(uname -s)" == Darwin ]] || missing+=(iproute2)
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi

if [[ "$(uname -s)" == Darwin ]]; then
  brewable=()
  for name in "${missing[@]}"; do
    case "$name" in
      bubblewrap) ;; # Linux only; the tests that run real shells belong to Linux
      npm) brewable+=(node) ;;
      gcc) brewable+=(gcc) ;; # or Apple's: xcode-select --install
      libc6-dev) ;;
      postgresql) brewable+=(postgresql@17) ;;
      *) brewable+=("$name") ;;
    esac
  done
  if [[ ${#brewable[@]} -gt 0 ]]; then
    echo "setup_system: missing: ${brewable[*]}; run: brew install ${brewable[*]}" >&2
    exit 1
  fi
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "setup_system: missing: ${missing[*]}; install them with this system's package manager" >&2
  exit 1
fi

as_root=()
if [[ "$(id -u)" -ne 0 ]]; then
  command -v sudo >/dev/null || {
    echo "setup_system: missing: ${missing[*]}; as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "setup_system: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
