"""The append-only record of decisions."""
