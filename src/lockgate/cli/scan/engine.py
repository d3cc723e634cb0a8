"""``lockgate scan``: the pattern library over files, folders, standard input and what git is about to record."""
