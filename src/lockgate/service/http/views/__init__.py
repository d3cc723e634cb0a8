"""What the dashboard's pages show, from rows of the store."""
