"""Configuration files as plain values, each with its line."""
