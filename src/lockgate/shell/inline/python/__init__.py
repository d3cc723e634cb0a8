"""Reads Python on the command line."""
