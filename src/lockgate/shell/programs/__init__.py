"""What programs do with their words: roles of options and operands."""
