"""What a hook and a gate say to each other, on this machine and between machines."""
