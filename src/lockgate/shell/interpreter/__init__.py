"""Runs a tree abstractly: which commands run, with which words."""
