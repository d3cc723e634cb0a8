"""Tells whether a secret reaches what is sent."""
