"""Where labels, approvals and the audit are kept."""
