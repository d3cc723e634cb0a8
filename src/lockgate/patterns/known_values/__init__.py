"""Secrets whose values are known by keyed hash, and canaries."""
