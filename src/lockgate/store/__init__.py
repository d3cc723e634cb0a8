"""Where labels, approvals and the audit are kept."""

__all__ = [
    "administration",
    "audit",
    "chain_links",
    "files",
    "opening",
    "postgres",
    "probe",
    "protocol",
    "rows",
    "sqlite",
]
