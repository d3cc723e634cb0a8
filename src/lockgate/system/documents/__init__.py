"""Configuration files as plain values, each with its line."""

__all__ = [
    "compile_tables",
    "json_edit",
    "reader",
    "schema",
    "values",
    "yaml",
]
