"""Holds what Lockgate knows about programs: YAML by family, compiled to JSON by ``build``."""
