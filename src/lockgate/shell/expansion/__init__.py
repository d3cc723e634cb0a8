"""Expansion of words: parameters, arithmetic, globs."""
