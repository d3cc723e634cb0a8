"""Perl on the command line."""
