"""Every error that Lockgate raises on purpose.

::

    LockgateError
     +-- BadInputError          what a client sent cannot be read
     +-- ConfigError            a configuration file is not valid (file, line and key are known)
     +-- StoreError             the state could not be read or written
     +-- AuditError             the audit chain does not hold
     +-- InstallError           a client's settings could not be read or changed
     +-- ContainmentError       a command cannot be run contained
     +-- PatternError           the pattern library cannot be compiled or loaded
     +-- ApprovalError          a question to a person cannot be answered
     +-- EndorsementError       a result cannot be endorsed
     +-- JudgeError             the judge is not set up as it must be, or gave no opinion
     +-- KeyringError           the system's keyring cannot be asked for a secret
     +-- PluginError            a plugin cannot be loaded, or breaks its contract
     +-- RemoteError            the other side of an IPC does not answer, or not as it must
     +-- BundleError            a fleet's policy bundle is refused

Messages start in lower case, have no final period, and tell a person what to do where there is something to do.
"""

from __future__ import annotations


class LockgateError(Exception):
    """Base of all deliberate errors."""


class BadInputError(LockgateError):
    """A client's input cannot be read as a call."""


class ConfigError(LockgateError):
    """A configuration file is not valid.

    Attributes:
        file: Path of the file.
        line: 1-based line, 0 where it is not known.
        key: Dotted path of the key, empty where the whole file is meant.
        problem: What is wrong, without the place.
    """

    def __init__(self, file: str, line: int, key: str, problem: str) -> None:
        self.file, self.line, self.key, self.problem = file, line, key, problem
        where = f"{file}:{line}" if line else file
        super().__init__(f"{where}: {key}: {problem}" if key else f"{where}: {problem}")


class StoreError(LockgateError):
    """The state could not be read or written.

    Attributes:
        is_newer: Whether a newer version has changed the tables: it is of no use to try again.
    """

    def __init__(self, *problem: str, is_newer: bool = False) -> None:
        self.is_newer = is_newer
        super().__init__(*problem)


class AuditError(LockgateError):
    """The audit chain does not hold."""


class InstallError(LockgateError):
    """A client's settings could not be read or changed."""


class ContainmentError(LockgateError):
    """A command cannot be run contained."""


class PatternError(LockgateError):
    """The pattern library cannot be compiled or loaded."""


class NotCompiledError(PatternError):
    """The pattern library is not compiled in time; somebody is at it."""


class ApprovalError(LockgateError):
    """A question to a person cannot be answered."""


class EndorsementError(LockgateError):
    """A result cannot be endorsed. The message tells a person why."""


class JudgeError(LockgateError):
    """The judge is not set up as it must be, or gave no opinion."""


class KeyringError(LockgateError):
    """The system's keyring cannot be asked for a secret."""


class PluginError(LockgateError):
    """A plugin cannot be loaded, or breaks its contract."""


class RemoteError(LockgateError):
    """The other side of an IPC does not answer, or not as it must."""


class BundleError(LockgateError):
    """A fleet's policy bundle is refused, or what this machine keeps about it cannot be read."""
