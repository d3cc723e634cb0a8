"""Runs the real Claude Code, offline, against a scripted model and a real installation of Lockgate."""
