"""The analysis as a tree that a person can read."""
