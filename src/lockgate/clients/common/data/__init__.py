"""What each client calls its tools: tables, compiled for the hook."""
