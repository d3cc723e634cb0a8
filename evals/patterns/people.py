"""Personal data with the check digits that their countries prescribe, by chance."""

# ruff: noqa: E501 - tables: a text a line
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from formats import DIGITS, UPPER, some

FIRST = ("anna", "jonas", "mehmet", "olga", "peter", "sofia", "ravi", "li", "fatou", "carlos", "emma", "noah")
LAST = ("keller", "novak", "yilmaz", "ivanova", "smith", "rossi", "patel", "wang", "diallo", "garcia", "jones", "berg")
DOMAINS = (
    "gmail.com",
    "outlook.com",
    "posteo.de",
    "kellerbau.ch",
    "univ-lyon.fr",
    "proton.me",
    "acmecorp.io",
    "web.de",
)


def luhn_digit(digits: str) -> str:
    """The digit that makes a number pass Luhn's check."""
    total = 0
    for index, digit in enumerate(reversed(digits)):
        number = int(digit) * (2 if index % 2 == 0 else 1)
        total += number - 9 if number > 9 else number
    return str(-total % 10)


def card(chance: Random) -> str:
    """A card's number, in the groups in which people write them."""
    prefix, length = chance.choice(
        [("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16)]
    )
    body = prefix + some(chance, DIGITS, length - len(prefix) - 1)
    number = body + luhn_digit(body)
    cuts = (4, 6, 5) if length == 15 else (4, 4, 4, 4)
    groups, at = [], 0
    for cut in cuts:
        groups.append(number[at : at + cut])
        at += cut
    return chance.choice(["", " ", "-"]).join(groups)


_BANKS = {
    "DE": "dddddddddddddddddd",
    "GB": "uuuudddddddddddddd",
    "FR": "dddddddddddddddddddddd" + "d",
    "NL": "uuuudddddddddd",
    "ES": "d" * 20,
    "CH": "d" * 17,
}


def iban(chance: Random) -> str:
    """An account's number with check digits modulo 97 (ISO 13616)."""
    country = chance.choice(list(_BANKS))
    body = "".join(chance.choice(DIGITS if kind == "d" else UPPER) for kind in _BANKS[country])
    number = int("".join(str(int(each, 36)) for each in body + country + "00"))
    text = f"{country}{98 - number % 97:02d}{body}"
    return text if chance.random() < 0.5 else " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def email(chance: Random) -> str:
    """An address of a person."""
    first, last = chance.choice(FIRST), chance.choice(LAST)
    name = chance.choice(
        [f"{first}.{last}", f"{first[0]}{last}", f"{first}_{last}{chance.randrange(60, 99)}", first + "+shop"]
    )
    return f"{name}@{chance.choice(DOMAINS)}"


def ssn(chance: Random) -> str:
    """A United States social security number of an area that is given out."""
    area = chance.choice([*range(1, 666), *range(667, 900)])
    return f"{area:03d}-{chance.randrange(1, 100):02d}-{chance.randrange(1, 10000):04d}"


def _weighted(digits: Sequence[int], weights: Sequence[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def cpf(chance: Random) -> str:
    """Brazil: two digits modulo 11."""
    digits = [chance.randrange(10) for _ in range(9)]
    for length in (10, 11):
        rest = _weighted(digits, range(length, 1, -1)) * 10 % 11
        digits.append(rest % 10)
    text = "".join(map(str, digits))
    return f"{text[:3]}.{text[3:6]}.{text[6:9]}-{text[9:]}"


def dni(chance: Random) -> str:
    """Spain: a letter modulo 23."""
    number = chance.randrange(10**7, 10**8)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def pesel(chance: Random) -> str:
    """Poland: the date of birth, and a digit modulo 10."""
    body = f"{chance.randrange(50, 99):02d}{chance.randrange(1, 13):02d}{chance.randrange(1, 29):02d}{some(chance, DIGITS, 4)}"
    return body + str(-_weighted([*map(int, body)], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10)


def bsn(chance: Random) -> str:
    """Netherlands: the eleven test."""
    while True:
        digits = [chance.randrange(1, 10), *(chance.randrange(10) for _ in range(7))]
        last = _weighted(digits, range(9, 1, -1)) % 11
        if last < 10:
            return "".join(map(str, [*digits, last]))


def nir(chance: Random) -> str:
    """France: 13 digits and a key modulo 97."""
    body = (
        f"{chance.choice('12')}{chance.randrange(50, 99):02d}{chance.randrange(1, 13):02d}{chance.randrange(1, 96):02d}"
    )
    body += f"{chance.randrange(1, 600):03d}{chance.randrange(1, 900):03d}"
    key = 97 - int(body) % 97
    groups = (body[0], body[1:3], body[3:5], body[5:7], body[7:10], body[10:13], f"{key:02d}")
    return chance.choice(["", " "]).join(groups)


def nino(chance: Random) -> str:
    """United Kingdom: prefixes that are given out."""
    prefix = chance.choice("ABCEGHJKLMPRSTWXY") + chance.choice("ABCEHJKLMPRSWXYZ")
    digits = some(chance, DIGITS, 6)
    if prefix in ("GB", "KN", "NK", "TN", "ZZ", "BG", "NT"):
        prefix = "AB"
    return f"{prefix} {digits[:2]} {digits[2:4]} {digits[4:]} {chance.choice('ABCD')}"


def aadhaar(chance: Random) -> str:
    """India: Verhoeff's digit."""
    body = chance.choice("23456789") + some(chance, DIGITS, 10)
    text = body + next(digit for digit in DIGITS if _verhoeff(body + digit) == 0)
    return f"{text[:4]} {text[4:8]} {text[8:]}"


def _verhoeff(number: str) -> int:
    """Zero where the check digit is right: the group D5, and the permutation (1 5 8 9 4 2 7 0)(3 6)."""
    step = dict(zip("0123456789", "1576283094", strict=True))
    check = 0
    for index, digit in enumerate(reversed(number)):
        for _ in range(index % 8):
            digit = step[digit]
        check = _d5(check, int(digit))
    return check


def _d5(left: int, right: int) -> int:
    if left < 5:
        return (left + right) % 5 if right < 5 else 5 + (left + right - 5) % 5
    return 5 + (left - right) % 5 if right < 5 else (left - right) % 5


def personnummer(chance: Random) -> str:
    """Sweden: the date of birth, and Luhn's digit."""
    body = f"{chance.randrange(50, 99):02d}{chance.randrange(1, 13):02d}{chance.randrange(1, 29):02d}{some(chance, DIGITS, 3)}"
    return f"19{body[:6]}-{body[6:]}{luhn_digit(body)}"


PEOPLE: Mapping[str, tuple[Callable[[Random], str], Sequence[str]]] = {
    "card": (card, ("Card: {v}\n", '{{"cardNumber": "{v}", "expiry": "04/29"}}', "paid with {v}, thanks", "{v}")),
    "IBAN": (iban, ("IBAN: {v}\n", "Bitte auf {v} ueberweisen.", '{{"iban":"{v}"}}', "{v}")),
    "e-mail": (email, ("Contact: {v}\n", '{{"email":"{v}"}}', "{v} wrote on Monday:", "name,mail\nA B,{v}\n", "<{v}>")),
    "SSN": (ssn, ("SSN: {v}\n", "ssn={v}", "her social security number is {v}.", '{{"ssn": "{v}"}}', "{v}")),
    "CPF": (cpf, ("CPF: {v}\n", "cpf: {v}", "cliente {v} confirmado", '{{"cpf": "{v}"}}')),
    "DNI": (dni, ("DNI: {v}\n", "dni={v}", '{{"dni": "{v}"}}', "con DNI {v}, vecino de Lugo")),
    "PESEL": (pesel, ("PESEL: {v}\n", '{{"pesel": "{v}"}}', "numer PESEL {v}")),
    "BSN": (bsn, ("BSN: {v}\n", '{{"bsn": "{v}"}}', "burgerservicenummer {v}")),
    "NIR": (nir, ("Numéro de sécurité sociale : {v}\n", "NIR {v}", '{{"nir": "{v}"}}')),
    "NINO": (nino, ("National Insurance number: {v}\n", "NI number {v}", '{{"nino": "{v}"}}')),
    "Aadhaar": (aadhaar, ("Aadhaar: {v}\n", "Aadhaar number {v}", '{{"aadhaar": "{v}"}}')),
    "personnummer": (personnummer, ("Personnummer: {v}\n", '{{"personnummer": "{v}"}}', "pnr {v}")),
}
"""By kind: how it is made, and what stands around it."""
