"""What it means to name a file, a host or a variable."""
