"""Whether the policy files of a bundle are valid: by the very readers that a gate has."""

from __future__ import annotations

from collections.abc import Iterator

from lockgate.configuration.bundles.manifest import CONFIGURATION, LOCKBOX, PATTERNS, Bundle
from lockgate.core.errors import ConfigError
from lockgate.system.libraries import library


def problems(bundle: Bundle) -> list[ConfigError]:
    """Everything that is wrong with the policy files, each with its file, line and key."""
    for name in ("yaml", "jsonschema", "regex"):
        library(name)
    return [*_configuration(bundle), *_patterns(bundle)]


def _configuration(bundle: Bundle) -> Iterator[ConfigError]:
    from lockgate.policy.validation import parse

    for name in (LOCKBOX, CONFIGURATION):
        if name not in bundle.files:
            continue
        parsed = parse(bundle.files[name], name)
        yield from parsed.problems
        for plugin in (parsed.value or {}).get("plugins", ()):
            if ("/" in plugin or plugin.endswith(".py")) and not plugin.startswith(("/", "~")):
                # It would be looked for beside a file that is in no folder.
                yield ConfigError(name, 0, "plugins", f"{plugin!r} must be an absolute path, or an entry point's name")


def _patterns(bundle: Bundle) -> Iterator[ConfigError]:
    if PATTERNS in bundle.files:
        from lockgate.patterns.library.loading import load, real_checks

        yield from load(bundle.files[PATTERNS], PATTERNS, real_checks()).problems
