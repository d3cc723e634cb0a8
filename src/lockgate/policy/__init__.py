"""Configuration layers, profiles, and the decision."""
