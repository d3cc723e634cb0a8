"""Validators of national identity numbers: check digits, dates of birth, and numbers never given out.

Each takes the number with or without spaces, dots, dashes and slashes. ``True`` where check digits prove it, ``None``
where it has none and nothing speaks against it. ``docs/patterns-validators.md`` names the source of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockgate.patterns.validators.numbers import compact, digits_of, luhn

_MONTH_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def exactly(value: str, length: int) -> str:
    """The digits of a text that has so many of them and no letters, else nothing."""
    text = compact(value)
    return text if len(text) == length and text.isdigit() else ""


def weigh(digits: Iterable[str], weights: Sequence[int]) -> int:
    """The sum of digits, each as often as its weight says."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def is_day(month: int, day: int) -> bool:
    """Whether a year has such a day."""
    return 1 <= month <= 12 and 1 <= day <= _MONTH_LENGTHS[month - 1]


def ssn(value: str) -> bool | None:
    """US Social Security number: no area 000, 666 or from 900, no group 00, no serial 0000, none known from adverts."""
    digits = exactly(value, 9)
    if not digits or digits[:3] in ("000", "666") or digits[0] == "9" or digits[3:5] == "00" or digits[5:] == "0000":
        return False
    groups = (digits[:3], digits[3:5], digits[5:])
    made_up = all(len(set(group)) == 1 for group in groups)
    return False if made_up or digits in ("078051120", "219099999", "457555462") else None


def itin(value: str) -> bool | None:
    """US taxpayer's number of those without an SSN: begins with 9, and only some groups are given out."""
    digits = exactly(value, 9)
    group = int(digits[3:5] or 0)
    given_out = 50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 92 or 94 <= group <= 99
    return None if digits[:1] == "9" and given_out else False


def nino(value: str) -> bool | None:
    """UK National Insurance number: two letters of which some pairs are never given out, six digits, A to D."""
    text = compact(value)
    pair = text[:2]
    if len(text) != 9 or not text[2:8].isdigit() or text[8] not in "ABCD" or not pair.isalpha():
        return False
    if pair[0] in "DFIQUV" or pair[1] in "DFIOQUV" or pair in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ"):
        return False
    return None if text[2:8] != "123456" else False


def nhs_number(value: str) -> bool:
    """UK National Health Service number: ten digits, the last a check digit modulo 11."""
    digits = exactly(value, 10)
    return len(set(digits)) > 1 and weigh(digits, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def sin(value: str) -> bool:
    """Canadian Social Insurance Number: nine digits with a Luhn check digit, none begins with 0 or 8."""
    digits = exactly(value, 9)
    return bool(digits) and digits[0] not in "08" and len(set(digits)) > 2 and luhn(digits)


def nir(value: str) -> bool:
    """French social security number: sex, year, month, place, and a key modulo 97."""
    text = compact(value)
    number = text[:13].replace("2A", "19", 1).replace("2B", "18", 1) if text[5:7] in ("2A", "2B") else text[:13]
    if len(text) != 15 or not number.isdigit() or not text[13:].isdigit() or text[0] not in "123478":
        return False
    if len(set(text)) <= 5:
        return False  # of a table of strokes: 121125444411234
    month = int(text[3:5])
    return (1 <= month <= 12 or 20 <= month <= 42 or month >= 50) and 97 - int(number) % 97 == int(text[13:])


def steuer_id(value: str) -> bool:
    """German tax identification number: ten digits of which one comes twice or thrice, and a check digit (ISO 7064)."""
    digits = exactly(value, 11)
    if not digits or digits[0] == "0":
        return False
    counts = sorted(digits.count(digit, 0, 10) for digit in set(digits[:10]))
    if counts[-1] not in (2, 3) or counts.count(1) != len(counts) - 1:
        return False
    return _mod_11_10(digits[:10]) == int(digits[10])


def _mod_11_10(digits: str) -> int:
    """The check digit of ISO 7064, MOD 11,10."""
    product = 10
    for digit in digits:
        product = 2 * ((int(digit) + product) % 10 or 10) % 11
    return (11 - product) % 10


def dni(value: str) -> bool:
    """Spanish identity number of citizens (DNI) or foreigners (NIE): the letter is the number modulo 23."""
    text = compact(value)
    number = text[:-1].translate(str.maketrans("XYZ", "012")) if text[:1] in ("X", "Y", "Z") else text[:-1]
    if len(text) != 9 or not number.isdigit() or len(set(number)) < 2:
        return False
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[8]


_ODD_CODICE = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
"""What the letters A to Z, and the digits as A to J, count for in an odd place of a codice fiscale."""


def codice_fiscale(value: str) -> bool:
    """Italian tax code: six letters, year, month, day, place, and a check letter."""
    text = compact(value)
    if len(text) != 16 or not text[:6].isalpha() or text[8] not in "ABCDEHLMPRST" or not text[15].isalpha():
        return False
    places = [int(char) if char.isdigit() else ord(char) - ord("A") for char in text[:15]]
    return (sum(_ODD_CODICE[place] for place in places[::2]) + sum(places[1::2])) % 26 == ord(text[15]) - ord("A")


def bsn(value: str) -> bool:
    """Dutch citizen service number: nine digits that pass the eleven test."""
    digits = exactly(value, 9)
    return bool(digits) and len(set(digits)) > 2 and weigh(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def pesel(value: str) -> bool:
    """Polish identification number: date of birth with the century in the month, and a check digit."""
    digits = exactly(value, 11)
    if not digits or not is_day(int(digits[2:4]) % 20, int(digits[4:6])):
        return False
    return weigh(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _has_two_mod_11_digits(values: Sequence[int], weights: Sequence[int]) -> bool:
    """Whether the last two are Brazilian check digits of the others: each modulo 11, the second over the first too."""
    for at in (-2, -1):
        head = values[:at]
        check = -sum(map(int.__mul__, head, weights[len(weights) - len(head) :])) % 11
        if (0 if check == 10 else check) != values[at]:
            return False
    return True


def cpf(value: str) -> bool:
    """Brazilian number of a person: eleven digits, the last two check digits."""
    digits = exactly(value, 11)
    return len(set(digits)) > 1 and _has_two_mod_11_digits(list(map(int, digits)), range(11, 1, -1))


def cnpj(value: str) -> bool:
    """Brazilian number of a company: fourteen characters, since 2026 also letters, the last two check digits."""
    text = compact(value)
    if len(text) != 14 or len(set(text)) < 2 or not text[12:].isdigit():
        return False
    return _has_two_mod_11_digits([ord(char) - 48 for char in text], (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2))


_VERHOEFF_TURNS = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
"""What the Verhoeff algorithm turns a digit into, once for each place from the right."""


def _has_verhoeff_digit(digits: str) -> bool:
    """Whether the last digit is a Verhoeff check digit: a sum in the dihedral group of a pentagon."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        digit = int(char)
        for _ in range(place % 8):
            digit = _VERHOEFF_TURNS[digit]
        mirrored, turn = divmod(total, 5)
        turn = (turn + (-digit if mirrored else digit) % 5) % 5
        total = 5 * (mirrored ^ (digit >= 5)) + turn
    return total == 0


def aadhaar(value: str) -> bool:
    """Indian identity number: twelve digits, the first from 2, the last a Verhoeff check digit; no palindrome."""
    digits = exactly(value, 12)
    return bool(digits) and digits[0] not in "01" and digits != digits[::-1] and _has_verhoeff_digit(digits)


def pan(value: str) -> bool | None:
    """Indian tax number: five letters, the fourth for the kind of holder, four digits, a letter."""
    text = compact(value)
    if len(text) != 10 or not (text[:5] + text[9]).isalpha() or not text[5:9].isdigit():
        return False
    return None if text[3] in "ABCFGHJLPT" and text[5:9] != "0000" and text[:5] != "ABCDE" else False


def tfn(value: str) -> bool:
    """Australian tax file number: nine digits, whose weighted sum 11 divides."""
    digits = exactly(value, 9)
    return len(set(digits)) > 2 and weigh(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def medicare(value: str) -> bool:
    """Australian Medicare number: ten or eleven digits, the first 2 to 6, the ninth a check digit."""
    digits = digits_of(value)
    if len(digits) not in (10, 11) or digits[0] not in "23456":
        return False
    return weigh(digits[:8], (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(digits[8])


def my_number(value: str) -> bool:
    """Japanese individual number: twelve digits, the last a check digit modulo 11."""
    digits = exactly(value, 12)
    if len(set(digits)) < 3:
        return False
    rest = weigh(digits, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if rest < 2 else 11 - rest) == int(digits[11])


def ahv(value: str) -> bool:
    """Swiss social security number: 756 and ten digits, the last an EAN check digit."""
    digits = exactly(value, 13)
    return digits.startswith("756") and weigh(digits, (1, 3) * 6 + (1,)) % 10 == 0
