"""The layers of configuration files, in the order in which they bind."""
