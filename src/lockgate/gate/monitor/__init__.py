"""One event in, one answer out: the decision on calls, results and lifetimes."""

__all__ = [
    "answer",
    "calls",
    "context_text",
    "deployments",
    "lifetimes",
    "masking",
    "prompt_parts",
    "results",
    "rooms",
]
