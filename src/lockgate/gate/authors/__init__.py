"""Whose words a result holds, asked of the service that it comes from.

``objects.py``, ``facts.py`` and ``words.py`` are pure.
``service.py`` asks, and ``lookup.py`` keeps what was said.
"""
