"""Makes the environment of a contained command: without credentials, and without ways to services of this machine."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.lazy import lazy_re
from lockgate.patterns.redaction.credentials import redact

TEMPORARY = "/tmp"  # noqa: S108 - a folder of the sandbox's own

_SECRET_NAME = lazy_re(
    r"(?i)apikey|passw(or)?d|passphrase|secret|credential|token(?!iz)"
    r"|(^|_)(key|keys|pass|auth|cookies?|private|dsn|pat|webhook|salt)(_|$)|_pwd(_|$)"
)
"""Names whose value is taken to be a credential."""

_SERVICES = lazy_re(
    r"(?i)(SSH|GNOME_KEYRING|DBUS|WAYLAND|PULSE|PIPEWIRE|DOCKER|KUBE|TMUX|VSCODE_IPC|VSCODE_GIT|XDG_SESSION|LISTEN|"
    r"ANTHROPIC|AWS|AZURE|GOOGLE|GCP)_.*|DISPLAY|XAUTHORITY|SESSION_MANAGER|GPG_AGENT_INFO|CONTAINER_HOST|BUILDKIT_HOST|"
    r"KUBECONFIG|TMUX|STY|XDG_RUNTIME_DIR|.*_ASKPASS|.*_SOCK|.*_SOCKET|CLAUDE_CODE_SSE_PORT|DEBUGINFOD_URLS|"
    r"(https?|ftp|all|no|socks5?|grpc)_proxy"
)
"""Names that lead to a service of this machine or to an account: nobody answers a contained command there."""

_GIT_SETTING = lazy_re(r"GIT_CONFIG_(COUNT|KEY_[0-9]+|VALUE_[0-9]+)")
_GIT_COUNT = lazy_re(r"[1-9][0-9]?")
_LETS_IN = lazy_re(r"(?i)extraheader|@")
"""In the name of a setting of Git: its value, or an address in the name itself, may let somebody in."""

_IMPATIENT = {
    "npm_config_fetch_retries": "0",
    "YARN_HTTP_RETRY": "0",
    "PIP_RETRIES": "0",
    "UV_HTTP_RETRIES": "0",
    "CARGO_NET_RETRY": "0",
}
"""What keeps package managers from trying again for minutes where nobody answers (their manuals: npm config, yarnrc,
pip's environment variables, uv's environment variables, cargo's configuration)."""


def npm_folders(home: str, *, cached: bool) -> dict[str, str]:
    """Where npm writes: its usual cache is read-only in the sandbox, and its logs lie in the cache.

    ``npm pack`` writes to the cache, and an install without a network reads it. npm knows one cache alone (npm's
    manual: the settings ``cache`` and ``logs-dir``).

    Args:
        home: The home folder.
        cached: Whether packages are to come from the cache that a person has filled.
    """
    folders = {"npm_config_logs_dir": f"{home}/.cache/npm/_logs"}
    return folders if cached else {**folders, "npm_config_cache": f"{home}/.cache/npm"}


def make_contained_environment(environ: Mapping[str, str], home: str) -> dict[str, str]:
    """The part of an environment that a contained command gets.

    Args:
        environ: The environment that the command would have without containment.
        home: The home folder.
    """
    kept = {name: value for name, value in environ.items() if _is_kept(name, value)} | _git_settings(environ)
    for name in ("TMPDIR", "TMP", "TEMP", "TEMPDIR"):
        if name in kept:
            kept[name] = TEMPORARY
    if "XDG_CACHE_HOME" in kept:
        kept["XDG_CACHE_HOME"] = f"{home}/.cache"
    # Says to a script, and to nobody else, why there is no network.
    return {**_IMPATIENT, **kept, "LOCKGATE_CONTAINED": "1"}


def _git_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Git's settings that stand in variables, without those that let somebody in, counted anew.

    Git refuses to run where one of them is missing (its manual, ``GIT_CONFIG_COUNT``), and Copilot CLI gives each
    command three. Where one is missing already, or there are too many, none is given.
    """
    count = environ.get("GIT_CONFIG_COUNT", "")
    numbers = range(int(count) if _GIT_COUNT.fullmatch(count) else 0)
    pairs = [(environ.get(f"GIT_CONFIG_KEY_{each}"), environ.get(f"GIT_CONFIG_VALUE_{each}")) for each in numbers]
    found = [(key, value) for key, value in pairs if key is not None and value is not None]
    kept = [(key, value) for key, value in found if not _LETS_IN.search(key) and _is_kept(key, value)]
    if not kept or len(found) < len(pairs):
        return {}
    given = {"GIT_CONFIG_COUNT": str(len(kept))}
    for number, (key, value) in enumerate(kept):
        given |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return given


def _is_kept(name: str, value: str) -> bool:
    if _GIT_SETTING.fullmatch(name):
        return False
    if _SERVICES.fullmatch(name) or _SECRET_NAME.search(name):
        return False
    return redact(value) == value
