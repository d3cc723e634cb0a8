"""Classifies paths, hosts and ports: whose they are, and what it means to touch them."""

__all__ = [
    "addresses",
    "categories",
    "digits",
    "globs",
    "host_view",
    "hosts",
    "loopback",
    "own_ports",
    "path_spelling",
    "paths",
    "places",
    "protected_paths",
    "relays",
    "services",
    "unknown_folders",
]
