"""Runs a tree abstractly: finds which commands run, with which words."""
