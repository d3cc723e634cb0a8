"""Sandboxes of Linux: bubblewrap, the kernel's namespaces, Landlock and seccomp; plans for the native launcher."""

__all__ = [
    "native_launcher",
]
