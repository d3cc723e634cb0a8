"""One module per client dialect: decoder and encoder side by side."""
