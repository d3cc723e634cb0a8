"""Finds what programs do with their words, by the roles of options and operands."""
