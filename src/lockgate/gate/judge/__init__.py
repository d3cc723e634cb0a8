"""The judge: a model that is asked about a call where the table says so.

``judge.py`` asks. It is made of ``settings.py`` and ``keys.py`` (which endpoint, and whether it can be asked),
``material.py``, ``fencing.py`` and ``prompts.py`` (what is sent), ``asking.py`` with ``anthropic_messages.py`` and
``openai_chat.py`` (how), ``strict.py`` (what counts as an answer), ``slots.py`` (how many at once) and ``opinions.py``
(what is not asked twice). See ``docs/judge.md``.
"""
