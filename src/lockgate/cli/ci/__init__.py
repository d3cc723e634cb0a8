"""``lockgate ci``: an agent in a job of a CI service."""
