"""Where labels, approvals and the audit are kept."""

__all__ = [
    "audit",
    "chain_links",
    "copy",
    "files",
    "opening",
    "postgres",
    "probe",
    "protocol",
    "rows",
    "sqlite",
]
