"""Putting hooks into the clients' settings, and checking them."""
