"""What paths, hosts and ports are: whose, and what it means to touch them."""
