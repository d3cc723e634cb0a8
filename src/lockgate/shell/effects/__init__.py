"""Finds the effects of naming a file, a host or a variable."""
