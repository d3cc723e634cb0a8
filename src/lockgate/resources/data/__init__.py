"""Holds knowledge about places, tools and secrets, as tables."""
