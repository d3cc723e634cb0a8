"""Records of the audit in the formats that SIEMs read: CEF and OCSF. What becomes of which field is data."""

__all__ = [
    "formats",
]
