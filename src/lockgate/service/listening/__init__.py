"""Sockets that strangers can connect to: limits and timeouts."""
