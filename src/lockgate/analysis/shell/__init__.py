"""Reading shell: text to syntax tree, tree to programs, programs to effects."""
