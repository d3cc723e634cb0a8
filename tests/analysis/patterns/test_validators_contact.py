"""Accounts, and ways to reach a person or a machine: what is before and behind the value counts too."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.patterns.model import Candidate
from lockgate.patterns.validators import VALIDATORS

TRUE, NONE, FALSE = True, None, False


def ask(name, value, before="", after=""):
    return VALIDATORS[name](Candidate(value, value, "", before, after), None)


def with_check_digit(head):
    """A number and its Luhn check digit, found by counting."""
    digits = [int(digit) for digit in head]
    doubled = [2 * digit if place % 2 == 0 else digit for place, digit in enumerate(reversed(digits))]
    total = sum(digit // 10 + digit % 10 for digit in doubled)
    return head + str(-total % 10)


@pytest.mark.parametrize(
    ("head", "length"),
    [("4539", 16), ("4716", 19), ("5425", 16), ("2720", 16), ("3782", 15), ("3612", 14), ("6011", 16), ("6221", 19)],
)
@given(data=st.data())
def test_the_number_of_a_network_with_a_check_digit_is_a_card(head, length, data):
    digits = data.draw(st.permutations("0123456789")) + data.draw(st.permutations("0123456789"))
    number = with_check_digit((head + "".join(digits))[: length - 1])
    assert ask("card", number) is True
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert ask("card", wrong) is False


REAL = "4539" + "170438015003"


@pytest.mark.parametrize(
    ("value", "before", "after", "answer"),
    [
        (REAL, "", "", TRUE),
        (" ".join([REAL[:4], REAL[4:8], REAL[8:12], REAL[12:]]), "card ", " 12/27", TRUE),
        ("-".join([REAL[:4], REAL[4:8], REAL[8:12], REAL[12:]]), "card=", ".", TRUE),
        (" ".join([REAL[:4], REAL[4:8], REAL[8:12], REAL[12:]]), "order 1093 ", " 1227 311", TRUE),
        (" ".join([REAL[:4], REAL[4:8], REAL[8:12], REAL[12:]]), "6700 51F1 5270 ", "", FALSE),
        (" ".join([REAL[:4], REAL[4:8], REAL[8:12], REAL[12:]]), "", " 5180 51AA", FALSE),
        (with_check_digit("471612034958"), "Visa: ", "", TRUE),
        (with_check_digit("471612034958"), "EAN ", "", FALSE),
        (with_check_digit("561203495817263"), '"card_number": "', '"', TRUE),
        (with_check_digit("561203495817263"), "order ", "", FALSE),
        (with_check_digit("413123512353124"), "", "", FALSE),
        (REAL, "0.", "", FALSE),
        (REAL, "id-", "", FALSE),
        (REAL, "", ".5", FALSE),
        (REAL, "", "-0042", FALSE),
        (with_check_digit("7" + REAL[1:-1]), "", "", FALSE),
        (with_check_digit(REAL[:-2]), "", "", FALSE),
        ("4242424242424242", "", "", FALSE),
        ("4111 1111 1111 1111", "", "", FALSE),
        ("4012888888881881", "", "", FALSE),
        ("378282246310005", "", "", FALSE),
        ("4000000000003220", "", "", FALSE),
        ("", "", "", FALSE),
    ],
)
def test_a_card_is_no_part_of_another_number_and_no_test_card(value, before, after, answer):
    assert ask("card", value, before, after) is answer


@given(st.sampled_from([("DE", 18), ("NL", 14), ("GB", 18), ("NO", 11), ("MT", 27)]), st.data())
def test_an_iban_has_its_country_s_length_and_check_digits(country, data):
    code, length = country
    account = data.draw(st.text("0123456789ABCXYZ", min_size=length, max_size=length))
    rest = 0
    for char in account + code + "00":  # by long division, not with one big number
        rest = (rest * (10 if char.isdigit() else 100) + int(char, 36)) % 97
    value = f"{code}{98 - rest:02}{account}"
    assert ask("iban", value) is True
    assert ask("iban", " ".join(value[at : at + 4] for at in range(0, len(value), 4))) is True
    assert ask("iban", value + "0") is False
    assert ask("iban", "XX" + value[2:]) is False
    place = data.draw(st.sampled_from([at for at, char in enumerate(value) if char.isdigit()]))
    other = str((int(value[place]) + data.draw(st.integers(1, 9))) % 10)
    assert ask("iban", value[:place] + other + value[place + 1 :]) is False


@pytest.mark.parametrize(
    ("value", "before", "after", "answer"),
    [
        ("jane.doe@acme-corp.com", "", "", NONE),
        ("r.mueller+work@uni-hamburg.de", "mailto:", "", NONE),
        ("jane@acme.com", "<", ">", NONE),
        ("jane@acme.com", "", ": hello", NONE),
        ("jane@acme.com", "mail ", ".", NONE),
        ("user@example.com", "", "", FALSE),
        ("jane@mail.example.org", "", "", FALSE),
        ("jane@acme.test", "", "", FALSE),
        ("jane@acme.invalid", "", "", FALSE),
        ("root@localhost", "", "", FALSE),
        ("noreply@github.com", "", "", FALSE),
        ("7+jane@users.noreply.github.com", "", "", FALSE),
        ("git@github.com", "", ":acme/tool.git", FALSE),
        ("deploy@build.acme.com", "ssh -i key ", "", FALSE),
        ("deploy@build.acme.com", "scp file ", ":/srv", FALSE),
        ("deploy@build.acme.com", "", ":~/app", FALSE),
        ("deploy@build.acme.com", "ssh://", "/x", FALSE),
        ("pw@db.acme.com", "postgres://user:", "/x", FALSE),
        ("icon@2x.png", "", "", FALSE),
        ("getty@tty1.service", "", "", FALSE),
        ("node@20.1.0", "@types/", "", FALSE),
        ("a@b..com", "", "", FALSE),
    ],
)
def test_an_email_address_leads_to_a_person(value, before, after, answer):
    assert ask("email", value, before, after) is answer


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("+1 415-867-2294", NONE),
        ("+1 (613) 867-2294", NONE),
        ("+44 20 8194 6273", NONE),
        ("+44 20 7946 1823", NONE),
        ("+44 (0)20 8194 6273", NONE),
        ("+49 30 81736294", NONE),
        ("+49 171 8173629", NONE),
        ("+33 6 81 23 94 57", NONE),
        ("+34 612 84 73 95", NONE),
        ("+39 06 8173 6294", NONE),
        ("+91 98201 47362", NONE),
        ("+55 11 98147-2635", NONE),
        ("+61 412 738 264", NONE),
        ("+81 90-8173-6294", NONE),
        ("0049 30 81736294", NONE),
        ("0161 828 9417", NONE),
        ("(415) 867-2294", NONE),
        ("415-555-0134", FALSE),
        ("+1 415 555 0199", FALSE),
        ("+1 911-867-2294", FALSE),
        ("+1 415-167-2294", FALSE),
        ("+44 20 7946 0958", FALSE),
        ("+4916-12307", FALSE),
        ("+492717-0023210", FALSE),
        ("+44 7700 900123", FALSE),
        ("+61 491 570 156", FALSE),
        ("+33 6 81 23 94", FALSE),
        ("+34 112 84 73 95", FALSE),
        ("+999 12345678", FALSE),
        ("+49 00000000", FALSE),
        ("1763764535123", FALSE),
        ("1763764535", FALSE),
        ("", FALSE),
        ("+", FALSE),
    ],
)
def test_a_telephone_number_is_one_that_its_country_gives_out(value, answer):
    assert ask("phone", value) is answer


@pytest.mark.parametrize(
    ("value", "before", "after", "answer"),
    [
        ("81.173.94.26", "", "", NONE),
        ("81.173.94.26", "host=", ":8080", NONE),
        ("2a00:1450:4001:81b::200e", "", "", NONE),
        ("10.1.2.3", "", "", FALSE),
        ("127.0.0.1", "", "", FALSE),
        ("169.254.169.254", "", "", FALSE),
        ("172.31.0.9", "", "", FALSE),
        ("100.64.3.4", "", "", FALSE),
        ("192.0.2.44", "", "", FALSE),
        ("198.51.100.7", "", "", FALSE),
        ("203.0.113.7", "", "", FALSE),
        ("224.0.0.251", "", "", FALSE),
        ("255.255.255.0", "", "", FALSE),
        ("0.0.0.0", "", "", FALSE),
        ("fe80::1", "", "", FALSE),
        ("8.8.8.8", "", "", FALSE),
        ("1.2.3.4", "", "", FALSE),
        ("81.173.94.26", "version ", "", FALSE),
        ("81.173.94.26", '"version": "', "", FALSE),
        ("81.173.94.26", "Chrome/", "", FALSE),
        ("81.173.94.26", ">=", "", FALSE),
        ("81.173.94.26", "", "-rc1", FALSE),
        ("81.173.94.0", "", "/24", FALSE),
        ("81.173.94.256", "", "", FALSE),
    ],
)
def test_an_address_of_the_internet_is_neither_private_nor_a_version(value, before, after, answer):
    assert ask("ip_public", value, before, after) is answer


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ("", "", NONE),
        ("=", ",", NONE),
        ("", ".", NONE),
        ("0.", "", FALSE),
        ("a-", "", FALSE),
        ("", "-1", FALSE),
        ("2.1e", "", FALSE),
    ],
)
def test_a_whole_number_goes_on_nowhere(before, after, answer):
    assert ask("whole_number", "123", before, after) is answer
