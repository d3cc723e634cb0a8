"""Knowledge about places, tools and secrets, as tables."""
