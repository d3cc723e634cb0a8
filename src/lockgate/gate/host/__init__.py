"""What the gate looks up on this machine for an analysis."""
