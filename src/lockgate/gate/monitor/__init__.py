"""One event in, one answer out: the decision on calls, results and lifetimes."""

__all__ = [
    "deployments",
    "masking",
    "prompt_parts",
    "rooms",
]
