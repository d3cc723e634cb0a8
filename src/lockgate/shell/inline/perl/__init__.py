"""Reads Perl on the command line."""
