"""Validators of personal numbers that hold a date of birth. As in ``national_ids``."""

from __future__ import annotations

from lockgate.patterns.validators.national_ids import exactly, is_day, weigh
from lockgate.patterns.validators.numbers import compact, digits_of, luhn

_OLDEST, _YOUNGEST = 1900, 2035
"""Years of birth of people who live, or will while this is used."""
_LONGEST_PART = 9
"""Digits of a day, month or year, with zeros before it: ``int`` takes no more than some thousands."""


def date_of_birth(value: str) -> bool | None:
    """Whether digits are a date on which somebody may be born: year first, or last with day and month in any order."""
    texts = "".join(char if char.isdecimal() else " " for char in value).split()
    if len(texts) != 3:
        return None
    if any(len(text) > _LONGEST_PART for text in texts):
        return False
    parts = [int(text) for text in texts]
    first, second, third = parts
    if first > 31:
        first, third = third, first
    return None if _OLDEST <= third <= _YOUNGEST and (is_day(first, second) or is_day(second, first)) else False


def personnummer(value: str) -> bool:
    """Swedish personal number: date of birth, the day 60 more for visitors, and a Luhn check digit over ten digits."""
    digits = digits_of(value)
    if len(digits) not in (10, 12) or (len(digits) == 12 and not digits.startswith(("19", "20"))):
        return False
    digits = digits[-10:]
    return is_day(int(digits[2:4]), int(digits[4:6]) % 60) and luhn(digits)


def hetu(value: str) -> bool:
    """Finnish identity code: day, month, year, a sign for the century, number, check character modulo 31."""
    text = value.strip().upper()
    number = text[:6] + text[7:10]
    if len(text) != 11 or not number.isdigit() or not number.isascii() or text[6] not in "+-ABCDEFYXWVU":
        return False
    check = "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(number) % 31]
    return is_day(int(text[2:4]), int(text[:2])) and check == text[10] and int(text[7:10]) >= 2


def fodselsnummer(value: str) -> bool:
    """Norwegian birth number: day (40 more for D-numbers), month, year, number, two check digits modulo 11."""
    digits = exactly(value, 11)
    if not digits or not is_day(int(digits[2:4]) % 40, int(digits[:2]) - 40 * (digits[0] > "3")):
        return False
    first = weigh(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11
    return first == 0 and weigh(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def rijksregisternummer(value: str) -> bool:
    """Belgian national number: year, month, day, number, and a check number modulo 97; from 2000 on with a 2 before."""
    digits = exactly(value, 11)
    if not digits or not is_day(int(digits[2:4]) % 20, int(digits[4:6])):
        return False
    return int(digits[9:]) in (97 - int(digits[:9]) % 97, 97 - int("2" + digits[:9]) % 97)


def resident_id(value: str) -> bool:
    """Chinese resident identity number: place, date of birth, number, check character modulo 11 (ISO 7064)."""
    text = compact(value)
    if len(text) != 18 or not text[:17].isdigit() or text[0] not in "12345689":
        return False
    if not _OLDEST <= int(text[6:10]) <= _YOUNGEST or not is_day(int(text[10:12]), int(text[12:14])):
        return False
    rest = weigh(text[:17], [pow(2, place, 11) for place in range(17, 0, -1)]) % 11
    return "10X98765432"[rest] == text[17]


def rrn(value: str) -> bool | None:
    """Korean resident number: date of birth, sex and century, number, check digit.

    ``None`` without the check digit where the person may be born after October 2020: those have none.
    """
    digits = exactly(value, 13)
    if not digits or not is_day(int(digits[2:4]), int(digits[4:6])) or digits[6] == "0" or digits[6] == "9":
        return False
    if (11 - weigh(digits, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10 == int(digits[12]):
        return True
    return None if digits[6] in "3478" and int(digits[:2]) >= 20 else False


def za_id(value: str) -> bool:
    """South African identity number: date of birth, number, citizenship 0 or 1, a digit, Luhn check digit."""
    digits = exactly(value, 13)
    if not digits or not is_day(int(digits[2:4]), int(digits[4:6])):
        return False
    return digits[10] in "012" and luhn(digits)
