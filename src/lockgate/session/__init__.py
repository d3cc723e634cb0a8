"""Labels over time: what each event changes."""
