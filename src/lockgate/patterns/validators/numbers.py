"""Validators of numbers that carry check digits, whatever they count: cards, accounts."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.lazy import lazy_re
from lockgate.patterns.model import Candidate

_DOUBLED = "0246813579"
"""The digits of twice a digit, added up: what the Luhn algorithm does with every second digit."""

_CARDS: tuple[tuple[int, int, tuple[int, ...]], ...] = (
    (4000, 4999, (16, 19)),  # Visa
    (5100, 5599, (16,)),  # Mastercard
    (2221, 2720, (16,)),  # Mastercard
    (3400, 3499, (15,)),  # American Express
    (3700, 3799, (15,)),  # American Express
    (3000, 3059, (14, 16, 19)),  # Diners Club
    (3095, 3095, (14, 16, 19)),  # Diners Club
    (3600, 3699, (14, 16, 19)),  # Diners Club
    (3800, 3999, (14, 16, 19)),  # Diners Club
    (3528, 3589, (16, 17, 18, 19)),  # JCB
    (6011, 6011, (16, 19)),  # Discover
    (6440, 6599, (16, 19)),  # Discover, RuPay, Elo
    (6200, 6299, (16, 17, 18, 19)),  # UnionPay, Discover
    (8100, 8171, (16, 19)),  # UnionPay, RuPay
    (2200, 2204, (16, 19)),  # Mir
    (5018, 5038, (16, 19)),  # Maestro, Dankort
    (5060, 5067, (16, 19)),  # Verve, Elo
    (5090, 5090, (16,)),  # Elo
    (5893, 5893, (16, 19)),  # Maestro
    (6304, 6304, (16, 19)),  # Maestro
    (6370, 6370, (16,)),  # Hipercard, InstaPayment
    (6759, 6763, (16, 19)),  # Maestro
    (6060, 6085, (16,)),  # RuPay, Hipercard
    (9792, 9792, (16,)),  # Troy
)
"""First and last value of the first four digits, and lengths, of the networks (ISO/IEC 7812 issuer numbers)."""
_RARE_CARDS: tuple[tuple[int, int, tuple[int, ...]], ...] = (
    (4000, 4999, (13,)),  # Visa, once
    (2131, 2131, (15,)),  # JCB
    (5600, 5899, (13, 14, 15, 16, 17, 18, 19)),  # Maestro
    (6390, 6390, (13, 14, 15, 16, 17, 18, 19)),  # Maestro
)
"""Numbers that are more often of articles and orders than of cards: they need a word before them."""
_SAYS_CARD = lazy_re(
    r"(?i)(?:card|visa|maestro|jcb|karte|carte|tarjeta|carta|(?:\b|_)pan\b|(?:\b|_)ccn?\b)[^\n]{0,24}\Z"
)

_TEST_CARDS = frozenset(
    """4012888888881881 4242424242424242 4000056655665556 5200828282828210 5105105105105100 2223003122003222
    2223000048400011 2223520043560014 378282246310005 371449635398431 378734493671000 6011000990139424
    6011981111111113 30569309025904 38520000023237 36227206271667 3056930009020004 3566002020360505 5019717010103742
    4917610000000000 4917300800000000 4462030000000000 4917480000000008 4111111145551142 5577000055770004
    5555341244441115 2222400010000008 2222400030000004 2222410740360010 6771798021000008 6759649826438453
    4005519200000004 4009348888881881 4012000033330026 4012000077777777 4500600000000061 4166676667666746
    4646464646464644 5425233430109903 2222420000001113 374245455400126 60115564485789458 6011000991300009
    3566000020000410 4263982640269299 4263970000005262 4001919257537193 4007702835532454 4917484589897107
    5425230000004415 4000002500003155 4000002760003184 4032039594909424 4580260106743160""".split()  # noqa: SIM905
)
"""Numbers that payment services publish for tests (docs.stripe.com/testing, developer.paypal.com, docs.adyen.com,
developer.paypal.com/braintree, worldpay.com). No such card exists. Those with few different digits are not listed."""

_IBAN_LENGTHS: Mapping[str, int] = {
    text[:2]: int(text[2:])
    for text in """AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28
    EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30
    KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29
    PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
    YE30""".split()  # noqa: SIM905
}
"""Characters of an account number by country (SWIFT IBAN registry)."""


def digits_of(value: str) -> str:
    """The ASCII digits of a text, in order: what is left of ``4111 1111-1111`` without what separates it."""
    return "".join(char for char in value if "0" <= char <= "9")


def compact(value: str) -> str:
    """The ASCII letters, in upper case, and digits of a text, in order."""
    return "".join(char for char in value if char.isascii() and char.isalnum()).upper()


def luhn(value: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    digits = digits_of(value)
    if len(digits) < 2:
        return False
    # Walking from the right, every second digit counts double.
    return (sum(map(int, digits[-1::-2])) + sum(int(_DOUBLED[int(digit)]) for digit in digits[-2::-2])) % 10 == 0


_CODE_POINT = r"\b(?=\w*[A-F])(?=\w*\d)[0-9A-F]{4,5}\b"
_CODES_BEFORE = lazy_re(_CODE_POINT + r"(?:\s\d{4,5}){0,3}\s\Z")
_CODES_BEHIND = lazy_re(r"(?:\s\d{4,5}){0,3}\s" + _CODE_POINT)
"""Neighbours of a card's groups that say that all of them are hexadecimal: tables of characters."""


def card(candidate: Candidate) -> bool:
    """Whether it is the number of a payment card: a network's first digits and length, a check digit, no test number.

    Part of a longer number, a decimal fraction or a longer group of digits is none.
    """
    digits = digits_of(candidate.value)
    if not 13 <= len(digits) <= 19 or not luhn(digits) or digits in _TEST_CARDS:
        return False
    if not _is_issued(digits, _CARDS) and not (_is_issued(digits, _RARE_CARDS) and _SAYS_CARD.search(candidate.before)):
        return False
    # Numbers made for a test: 4111 1111 1111 1111, 4000 0000 0000 3220. Tables of strokes: 4131235123535.
    if len(set(digits)) <= 5 or any(digit * 6 in digits for digit in set(digits)):
        return False
    if _CODES_BEFORE.search(candidate.before) or _CODES_BEHIND.match(candidate.after):
        return False
    return whole_number(candidate) is not False


def _is_issued(digits: str, networks: tuple[tuple[int, int, tuple[int, ...]], ...]) -> bool:
    return any(first <= int(digits[:4]) <= last and len(digits) in lengths for first, last, lengths in networks)


def whole_number(candidate: Candidate) -> bool | None:
    """Rejects a part of something longer: behind a point, a dash or an ``e``, or with more digits after one."""
    last, after = candidate.before[-1:], candidate.after
    goes_on = after[:1] in (".", "-") and after[1:2].isdigit()
    return False if goes_on or last in (".", "-") or last.isalnum() else None


def iban(value: str) -> bool:
    """Whether it is an International Bank Account Number (ISO 13616): its country's length, and check digits."""
    account = compact(value)
    if len(account) != _IBAN_LENGTHS.get(account[:2]) or not account[2:4].isdigit():
        return False
    return int("".join(str(int(char, 36)) for char in account[4:] + account[:4])) % 97 == 1
