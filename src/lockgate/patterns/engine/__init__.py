"""Matching the pattern library against texts within a time budget."""
