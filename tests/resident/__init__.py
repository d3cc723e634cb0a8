"""The resident gate, with real processes."""
