"""Patterns of a made-up company, and a key that they find."""

from __future__ import annotations

KEY = "acme_" + "live_0a1b2c3d4e5f60718293a4b5c6d7e8f9"
PATTERNS = """
schema_version: "1.0.0"
patterns:
  input:
    acme_secrets:
      name: Keys of Acme
      description: What our own services hand out.
      mode: block
      kind: secret
      timeout_ms: 1000
      rules:
        - id: acme_key
          type: acme_key
          pattern: 'acme_(?:live|test)_[a-z0-9]{32}'
          severity: critical
          examples:
            match: [["acme_", "live_0a1b2c3d4e5f60718293a4b5c6d7e8f9"]]
            no_match: [acme_live_short]
"""
