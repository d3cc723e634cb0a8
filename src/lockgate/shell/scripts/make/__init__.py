"""Makefiles: their syntax, rules and recipes."""
