"""The container's side of a gate that runs elsewhere: asking it, and believing no answer that is not its own."""
