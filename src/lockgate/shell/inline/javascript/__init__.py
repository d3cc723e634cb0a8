"""Reads JavaScript on the command line."""
