"""A tool call in, its effects out: pure functions with no clock, file, socket or environment."""
