"""Expands words: parameters, arithmetic, globs."""
