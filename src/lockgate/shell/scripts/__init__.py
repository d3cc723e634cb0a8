"""Scripts, Makefiles and recipes that a command runs."""
