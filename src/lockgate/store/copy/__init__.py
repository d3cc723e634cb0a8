"""Copying a store into another one."""
