"""Whether a secret reaches what is sent."""
