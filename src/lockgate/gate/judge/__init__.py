"""The judge: a model that is asked about a call where the table says so.

``judge.py`` asks. ``settings.py`` and ``keys.py`` say which endpoint, and whether it can be asked. ``material.py``,
``fencing.py`` and ``prompts.py`` make what is sent. ``asking.py`` sends it with ``anthropic_messages.py`` and
``openai_chat.py``. ``strict.py`` says what counts as an answer, ``slots.py`` how many are asked at once, and
``opinions.py`` what is not asked twice. See ``docs/judge.md``.
"""

__all__ = [
    "api_key",
    "judge",
    "settings",
]
