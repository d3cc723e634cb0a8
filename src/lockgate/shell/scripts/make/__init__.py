"""Reads makefiles: their syntax, rules and recipes."""
