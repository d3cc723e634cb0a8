"""Builds the sandbox of macOS: `sandbox-exec` with a profile that is tried on this machine first."""
