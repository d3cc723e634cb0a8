"""What the operating system and plain files give. No policy is in it."""

__all__ = [
    "caller",
    "code_identity",
    "digests",
    "documents",
    "error_log",
    "files",
    "folders",
    "keyring",
    "libraries",
    "ownership",
    "package_digest",
    "peer_credentials",
    "process_arguments",
    "programs",
    "timestamps",
    "ttl_cache",
    "unix_sockets",
    "uptime",
]
