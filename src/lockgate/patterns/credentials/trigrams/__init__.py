"""The table of character trigrams for ``rarity``, and how it is made."""
