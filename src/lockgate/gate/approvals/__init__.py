"""How a person lets one action through."""
