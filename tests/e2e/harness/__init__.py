"""Runs the real clients, offline, against a scripted model and a real installation of Lockgate."""
