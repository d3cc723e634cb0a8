"""The ground: what every room may import and what imports nothing of ours."""
