"""What rules ask about a candidate beyond its pattern: the registry of validators.

A validator answers ``True`` where a checksum or the structure proves the candidate. It answers ``None`` where nothing
speaks against it, and ``False`` where it cannot be what the rule looks for. ``docs/patterns-validators.md`` has them
all.

Importing this module imports none of them: a hook that finds nothing pays for no validator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.model import Candidate

if TYPE_CHECKING:
    from typing import Any

    Validator = Callable[[Candidate, float | None], bool | None]

__all__ = [
    "VALIDATORS",
]

_PACKAGE = "lockgate.patterns.validators"

CHECKSUMS = ("github_checksum", "npm_checksum")
"""Functions in ``keys`` whose yes needs no boundary: a checksum holds by chance once in a billion times.

The name of one more goes here and nowhere else.
"""

_OF_VALUE: Mapping[str, tuple[str, ...]] = {
    "numbers": ("luhn", "iban"),
    "keys": (*CHECKSUMS, "jwt", "aws_access_key_id", "discord_token", "telegram_token"),
    "encodings": ("pem", "base58check", "bech32", "nats_seed", "base32_seed"),
    "contact": ("phone", "phone_us"),
    "national_ids": (
        *("ssn", "itin", "nino", "nhs_number", "sin", "nir", "steuer_id", "dni", "codice_fiscale", "bsn", "pesel"),
        *("cpf", "cnpj", "aadhaar", "pan", "tfn", "medicare", "my_number", "ahv"),
    ),
    "birth_dates": (
        *("date_of_birth", "personnummer", "hetu", "fodselsnummer", "rijksregisternummer", "resident_id", "rrn"),
        "za_id",
    ),
}
"""Modules, and the functions in them that look at the value alone. A validator has its function's name."""
_OF_CANDIDATE: Mapping[str, tuple[str, ...]] = {
    "numbers": ("card", "whole_number"),
    "contact": ("email", "ip_public"),
}
"""The same for functions that also look at what is around the value."""


def _function(module: str, name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"{_PACKAGE}.{module}"), name)


def _value_validator(module: str, name: str) -> Validator:
    def validate(candidate: Candidate, parameter: float | None) -> bool | None:
        answer: bool | None = _function(module, name)(candidate.value)
        return answer

    return validate


def _candidate_validator(module: str, name: str) -> Validator:
    def validate(candidate: Candidate, parameter: float | None) -> bool | None:
        answer: bool | None = _function(module, name)(candidate)
        return answer

    return validate


def _not_placeholder(candidate: Candidate, parameter: float | None) -> bool | None:
    """Rejects what stands for a value: ``changeme``, ``<token>``, ``xxxx``, ``1234567890``."""
    from lockgate.patterns.credentials.placeholders import is_placeholder

    return False if is_placeholder(candidate.value) else None


def _rarity(candidate: Candidate, parameter: float | None) -> bool | None:
    """Rejects what looks more like words than the parameter allows: the least score, 0 to 1."""
    from lockgate.patterns.credentials.randomness import score

    return None if score(candidate.value) >= (parameter or 0.0) else False


def _credential(candidate: Candidate, parameter: float | None) -> bool | None:
    """What the model of names and values says to an assignment."""
    from lockgate.patterns.credentials.classifier import is_credential

    return is_credential(candidate, parameter)


def _basic_auth(candidate: Candidate, parameter: float | None) -> bool | None:
    """Whether the base64 holds ``name:password`` with a credential for a password."""
    from lockgate.patterns.credentials.classifier import is_basic_auth

    return is_basic_auth(candidate)


VALIDATORS: Mapping[str, Validator] = {
    **{name: _value_validator(module, name) for module, names in _OF_VALUE.items() for name in names},
    **{name: _candidate_validator(module, name) for module, names in _OF_CANDIDATE.items() for name in names},
    "not_placeholder": _not_placeholder,
    "rarity": _rarity,
    "credential": _credential,
    "basic_auth": _basic_auth,
}
"""Validators by the name that rules call them by. They raise nothing, whatever the candidate holds."""
