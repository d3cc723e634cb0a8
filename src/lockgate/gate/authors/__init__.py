"""Whose words a result holds, asked of the service that it comes from.

``objects.py``, ``facts.py`` and ``words.py`` are pure.
``service.py`` asks, ``lookup.py`` keeps what was said, and ``whose_words.py`` tells it to a person.
"""

__all__ = [
    "whose_words",
]
