"""Python on the command line."""
