"""What the client brings into the context with a prompt, without a call of a tool."""

__all__ = [
    "mentions",
    "prompt",
]
