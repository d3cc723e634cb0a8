"""Follows scripts, Makefiles and recipes that a command runs."""
