"""The pattern library's text: reading, merging and compiling the YAML files."""
