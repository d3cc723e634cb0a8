"""What is set up: configuration files, bundles, pattern libraries, known secrets, plugins."""
