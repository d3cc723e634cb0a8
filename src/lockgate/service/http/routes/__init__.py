"""The routes of the HTTP API."""
