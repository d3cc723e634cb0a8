"""What the adapters of several clients share."""
