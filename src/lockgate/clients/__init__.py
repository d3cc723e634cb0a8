"""The agent clients: their hooks, installation, and the SDK."""
