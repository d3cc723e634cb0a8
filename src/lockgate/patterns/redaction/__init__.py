"""Taking credentials out of texts."""
