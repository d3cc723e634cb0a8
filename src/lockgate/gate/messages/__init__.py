"""What the gate tells the agent and the person."""
