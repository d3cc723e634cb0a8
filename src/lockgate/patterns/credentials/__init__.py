"""Whether a value in a text is a credential: names, values, randomness, placeholders."""

__all__ = [
    "placeholders",
    "randomness",
]
