"""Random values that follow their format's rules, checksums included. Each takes the random source first."""

from __future__ import annotations

import base64
import json
import string
import zlib
from collections.abc import Callable
from itertools import pairwise
from random import Random

_B62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
CLASSES = {
    "b62": string.ascii_letters + string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "dig": string.digits,
    "ln": string.ascii_lowercase + string.digits,
    "UN": string.ascii_uppercase + string.digits,
    "b64u": string.ascii_letters + string.digits + "-_",
    "b64": string.ascii_letters + string.digits + "+/",
    "b32": string.ascii_uppercase + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}


def of(rng: Random, letters: str, length: int) -> str:
    """So many letters; the first and the last are letters or digits, as a reader would copy them."""
    plain = "".join(c for c in letters if c.isalnum())
    body = "".join(rng.choice(letters) for _ in range(max(length - 2, 0)))
    return (rng.choice(plain) + body + rng.choice(plain))[:length]


def _github(rng: Random, prefix: str, wrong: bool = False) -> str:
    body = of(rng, CLASSES["b62"], 30)
    number, check = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        check = _B62[digit] + check
    if wrong:
        check = check[:-1] + ("A" if check[-1] != "A" else "B")
    return f"{prefix}_{body}{check}"


def _aws(rng: Random, prefix: str) -> str:
    account = rng.randrange(10**11, 10**12)
    number = (1 << 79) | (account << 39) | rng.getrandbits(39)
    return prefix + base64.b32encode(number.to_bytes(10, "big")).decode()


def _jwt(rng: Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")

    claims = {"sub": of(rng, string.digits, 8), "iat": 1767225600 + rng.randrange(10**6), "scope": "read write"}
    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}.{of(rng, CLASSES['b64u'], 43)}"


def _luhn(digits: str) -> str:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (2 if place % 2 == 0 else 1)
        total += number - 9 if number > 9 else number
    return str(-total % 10)


def card(rng: Random, prefix: str, length: str = "16", style: str = "") -> str:
    """A card number of an issuer; ``style`` is what stands between its groups."""
    body = prefix + "".join(rng.choice(string.digits) for _ in range(int(length) - len(prefix) - 1))
    number = body + _luhn(body)
    between = {"sp": " ", "-": "-"}.get(style)
    return between.join(number[i : i + 4] for i in range(0, len(number), 4)) if between else number


def iban(rng: Random, country: str, shape: str, style: str = "") -> str:
    """An IBAN whose remainder is 1: ``shape`` is capital letters first, then how many digits."""
    letters = len(shape) - len(shape.lstrip(string.ascii_uppercase))
    count = int(shape[letters:].rstrip("n"))
    body = of(rng, string.ascii_uppercase, letters) + of(rng, string.digits, count)
    number = int("".join(str(int(c, 36)) for c in body + country + "00"))
    whole = f"{country}{98 - number % 97:02d}{body}"
    return " ".join(whole[i : i + 4] for i in range(0, len(whole), 4)) if style == "sp" else whole


def _weighted(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(d) * w for d, w in zip(digits, weights, strict=True))


def _pesel(rng: Random) -> str:
    body = f"{rng.randrange(50, 99)}{rng.randrange(1, 13):02d}{rng.randrange(1, 29):02d}{rng.randrange(10**4):04d}"
    return body + str(-_weighted(body, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10)


def _nir(rng: Random, style: str = "") -> str:
    born = f"{rng.randrange(50, 99)}{rng.randrange(1, 13):02d}"
    body = f"{rng.choice('12')}{born}75{rng.randrange(100, 990)}{rng.randrange(1, 999):03d}"
    check = f"{97 - int(body) % 97:02d}"
    whole = body + check
    cuts = (0, 1, 3, 5, 7, 10, 13, 15)
    return " ".join(whole[a:b] for a, b in pairwise(cuts)) if style else whole


def _cpf(rng: Random, style: str = "") -> str:
    body = of(rng, string.digits, 9)
    for _ in range(2):
        rest = _weighted(body, tuple(range(len(body) + 1, 1, -1))) * 10 % 11 % 10
        body += str(rest)
    return f"{body[:3]}.{body[3:6]}.{body[6:9]}-{body[9:]}" if style else body


def _times(a: int, b: int) -> int:
    """Multiplication in the dihedral group of ten elements, of Verhoeff's scheme."""
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b) % 5
    return 5 + (a - b) % 5 if b < 5 else (a - b) % 5


def _aadhaar(rng: Random, style: str = "") -> str:
    turn = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
    body = rng.choice("23456789") + of(rng, string.digits, 10)
    for check in string.digits:
        state = 0
        for place, digit in enumerate(reversed(body + check)):
            value = int(digit)
            for _ in range(place % 8):
                value = turn[value]
            state = _times(state, value)
        if state == 0:
            body += check
            break
    return f"{body[:4]} {body[4:8]} {body[8:]}" if style else body


def _codice_fiscale(rng: Random) -> str:
    name = f"RSS{rng.choice('MNPRST')}{rng.choice('RLN')}A"
    body = f"{name}{rng.randrange(50, 99)}{rng.choice('ABCDEHLMPRST')}{rng.randrange(1, 29):02d}H501"
    first_ten = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21)
    rest = (2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    odd = dict(zip(string.digits + string.ascii_uppercase, (*first_ten, *first_ten, *rest), strict=True))
    even = {c: (int(c) if c.isdigit() else ord(c) - 65) for c in odd}
    return body + chr(65 + sum((odd if i % 2 == 0 else even)[c] for i, c in enumerate(body)) % 26)


def _until(rng: Random, make: Callable[[Random], str], holds: Callable[[str], bool]) -> str:
    while True:
        value = make(rng)
        if holds(value):
            return value


def _digits(count: int) -> Callable[[Random], str]:
    return lambda rng: rng.choice("123456789") + of(rng, string.digits, count - 1)


def _bsn(rng: Random) -> str:
    return _until(rng, _digits(9), lambda v: _weighted(v, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0)


def _nhs(rng: Random) -> str:
    value = _until(rng, _digits(10), lambda v: _weighted(v, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0)
    return f"{value[:3]} {value[3:6]} {value[6:]}"


def _tfn(rng: Random) -> str:
    value = _until(rng, _digits(9), lambda v: _weighted(v, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0)
    return f"{value[:3]} {value[3:6]} {value[6:]}"


def _sin(rng: Random) -> str:
    body = rng.choice("1234567") + of(rng, string.digits, 7)
    whole = body + _luhn(body)
    return f"{whole[:3]}-{whole[3:6]}-{whole[6:]}"


def _steuer(rng: Random) -> str:
    digits = rng.sample(string.digits[1:], 9)
    body = "".join([*digits, digits[rng.randrange(9)]])
    product = 10
    for digit in body:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    return body + str((11 - product) % 10)


def _ahv(rng: Random) -> str:
    body = "756" + of(rng, string.digits, 9)
    check = -sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(body)) % 10
    whole = body + str(check)
    return f"{whole[:3]}.{whole[3:7]}.{whole[7:11]}.{whole[11:]}"


def _personnummer(rng: Random) -> str:
    body = f"{rng.randrange(50, 99)}{rng.randrange(1, 13):02d}{rng.randrange(1, 29):02d}{rng.randrange(100, 999)}"
    return f"{body[:6]}-{body[6:]}{_luhn(body)}"


def _ssn(rng: Random, between: str = "-") -> str:
    return (
        f"{rng.choice((212, 318, 421, 530, 545))}{between}{rng.randrange(10, 99)}{between}{rng.randrange(1000, 9999)}"
    )


def _nino(rng: Random, style: str = "") -> str:
    digits = of(rng, string.digits, 6)
    parts = (rng.choice(("AB", "CE", "JK", "PW")), digits[:2], digits[2:4], digits[4:], rng.choice("ABCD"))
    return (" " if style else "").join(parts)


def _uuid(rng: Random) -> str:
    value = of(rng, CLASSES["hex"], 32)
    return f"{value[:8]}-{value[8:12]}-4{value[13:16]}-a{value[17:20]}-{value[20:]}"


def _spoilt(value: str) -> str:
    """With another last digit."""
    return value[:-1] + str((int(value[-1]) + 1) % 10)


def _dni(rng: Random) -> str:
    number = rng.randrange(10**7, 10**8)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


VALUES: dict[str, Callable[..., str]] = {
    "gh": _github,
    "ghbad": lambda rng: _github(rng, "ghp", wrong=True),
    "npmbad": lambda rng: _github(rng, "npm", wrong=True),
    "aws": _aws,
    "jwt": _jwt,
    "card": card,
    "cardbad": lambda rng: _spoilt(card(rng, "45")),
    "iban": iban,
    "ibanbad": lambda rng: _spoilt(iban(rng, "DE", "18")),
    "pesel": _pesel,
    "peselbad": lambda rng: _spoilt(_pesel(rng)),
    "nir": _nir,
    "cpf": _cpf,
    "cpfbad": lambda rng: _spoilt(_cpf(rng)),
    "aadhaar": _aadhaar,
    "cf": _codice_fiscale,
    "bsn": _bsn,
    "nhs": _nhs,
    "tfn": _tfn,
    "sin": _sin,
    "steuer": _steuer,
    "ahv": _ahv,
    "pnr": _personnummer,
    "ssn": _ssn,
    "ssn0": lambda rng: _ssn(rng, ""),
    "nino": _nino,
    "dni": _dni,
    "uuid": _uuid,
    "dig1": lambda rng: rng.choice("01234"),
    "colon": lambda rng, count: ":".join(of(rng, CLASSES["HEX"], 2) for _ in range(int(count))),
}
