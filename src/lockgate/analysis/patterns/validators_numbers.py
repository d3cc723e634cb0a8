"""Validators of numbers that carry check digits, whatever they count: cards, accounts."""

from __future__ import annotations

_DOUBLED = "0246813579"
"""The digits of twice a digit, added up: what the Luhn algorithm does with every second digit."""


def digits_of(value: str) -> str:
    """The ASCII digits of a text, in order: what is left of ``4111 1111-1111`` without what separates it."""
    return "".join(char for char in value if "0" <= char <= "9")


def luhn(value: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    digits = digits_of(value)
    if len(digits) < 2:
        return False
    # Walking from the right, every second digit counts double.
    return (sum(map(int, digits[-1::-2])) + sum(int(_DOUBLED[int(digit)]) for digit in digits[-2::-2])) % 10 == 0
