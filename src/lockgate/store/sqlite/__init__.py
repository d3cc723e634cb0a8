"""The store in SQLite: the default."""
