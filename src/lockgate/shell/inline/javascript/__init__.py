"""JavaScript on the command line."""
