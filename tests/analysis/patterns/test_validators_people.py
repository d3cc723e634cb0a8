"""Numbers of people: each is made here from its digits with a check digit that is found by trying or by another way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.patterns.model import Candidate
from lockgate.patterns.validators import VALIDATORS

TRUE, NONE, FALSE = True, None, False


def ask(name, value, before="", after=""):
    return VALIDATORS[name](Candidate(value, value, "", before, after), None)


@pytest.mark.parametrize(
    ("name", "value", "answer"),
    [
        ("luhn", "79927398713", TRUE),
        ("luhn", "79927398710", FALSE),
        ("luhn", "7992 7398-713", TRUE),
        ("luhn", "", FALSE),
        ("ssn", "536-22-8714", NONE),
        ("ssn", "536 22 8714", NONE),
        ("ssn", "000-22-8714", FALSE),
        ("ssn", "666-22-8714", FALSE),
        ("ssn", "936-22-8714", FALSE),
        ("ssn", "536-00-8714", FALSE),
        ("ssn", "536-22-0000", FALSE),
        ("ssn", "078-05-1120", FALSE),
        ("ssn", "219-09-9999", FALSE),
        ("ssn", "333-33-3333", FALSE),
        ("itin", "912-70-1234", NONE),
        ("itin", "912-89-1234", FALSE),
        ("itin", "812-70-1234", FALSE),
        ("nino", "AB 78 43 56 C", NONE),
        ("nino", "QQ 12 34 56 C", FALSE),
        ("nino", "GB784356C", FALSE),
        ("nino", "AB784356E", FALSE),
        ("nhs_number", "943 476 5919", TRUE),
        ("nhs_number", "943 476 5918", FALSE),
        ("sin", "046 454 286", FALSE),
        ("sin", "130 692 544", TRUE),
        ("sin", "130 692 545", FALSE),
        ("nir", "2 55 08 14 168 025 38", TRUE),
        ("nir", "2 55 08 14 168 025 39", FALSE),
        ("steuer_id", "36574261809", TRUE),
        ("steuer_id", "36574261890", FALSE),
        ("steuer_id", "12345678903", FALSE),
        ("dni", "54362315K", TRUE),
        ("dni", "54362315-Z", FALSE),
        ("dni", "X2482300W", TRUE),
        ("dni", "X2482300A", FALSE),
        ("codice_fiscale", "RCCMNL83S18D969H", TRUE),
        ("codice_fiscale", "RCCMNL83S18D969I", FALSE),
        ("bsn", "111222333", TRUE),
        ("bsn", "111222334", FALSE),
        ("pesel", "44051401359", TRUE),
        ("pesel", "44051401358", FALSE),
        ("pesel", "44151401359", FALSE),
        ("cpf", "390.533.447-05", TRUE),
        ("cpf", "390.533.447-06", FALSE),
        ("cpf", "111.111.111-11", FALSE),
        ("cnpj", "16.727.230/0001-97", TRUE),
        ("cnpj", "16.727.230/0001-98", FALSE),
        ("cnpj", "12.ABC.345/01DE-35", TRUE),
        ("aadhaar", "2341 2341 2346", TRUE),
        ("aadhaar", "2341 2341 2347", FALSE),
        ("aadhaar", "1341 2341 2346", FALSE),
        ("pan", "ACUPA7085R", NONE),
        ("pan", "ACUEA7085R", FALSE),
        ("pan", "ABCDE1234F", FALSE),
        ("tfn", "123 456 782", TRUE),
        ("tfn", "123 456 783", FALSE),
        ("medicare", "2428 77813 2 1", TRUE),
        ("medicare", "2428 77823 2 1", FALSE),
        ("my_number", "123456789018", TRUE),
        ("my_number", "123456789019", FALSE),
        ("ahv", "756.9217.0769.85", TRUE),
        ("ahv", "756.9217.0769.84", FALSE),
        ("personnummer", "811228-9874", TRUE),
        ("personnummer", "19811228-9874", TRUE),
        ("personnummer", "811228-9873", FALSE),
        ("personnummer", "811328-9874", FALSE),
        ("hetu", "131052-308T", TRUE),
        ("hetu", "131052-308U", FALSE),
        ("hetu", "311152-308T", FALSE),
        ("fodselsnummer", "15108695088", TRUE),
        ("fodselsnummer", "15108695077", FALSE),
        ("rijksregisternummer", "85.07.30-033 28", TRUE),
        ("rijksregisternummer", "17.07.30-033 84", TRUE),
        ("rijksregisternummer", "85.07.30-033 29", FALSE),
        ("resident_id", "11010519491231002X", TRUE),
        ("resident_id", "110105194912310021", FALSE),
        ("resident_id", "110105194913310025", FALSE),
        ("rrn", "971013-9019902", FALSE),
        ("rrn", "210305-3123456", NONE),
        ("za_id", "7503305044089", TRUE),
        ("za_id", "7503305044088", FALSE),
        ("za_id", "7513305044089", FALSE),
        ("date_of_birth", "1984-02-29", NONE),
        ("date_of_birth", "29.2.1984", NONE),
        ("date_of_birth", "2/29/1984", NONE),
        ("date_of_birth", "1984-13-40", FALSE),
        ("date_of_birth", "31/04/3084", FALSE),
    ],
)
def test_a_number_of_a_person_has_the_structure_that_its_state_gave_it(name, value, answer):
    assert ask(name, value) is answer


CHECKED = {"luhn": 11, "nhs_number": 10, "sin": 9, "bsn": 9, "aadhaar": 12, "tfn": 9, "cpf": 11, "steuer_id": 11}
"""Numbers of digits alone, with how many there are."""


@pytest.mark.parametrize(("name", "size"), CHECKED.items())
@given(data=st.data())
def test_no_two_numbers_that_differ_in_the_check_digit_alone_are_both_right(name, size, data):
    head = data.draw(st.text("0123456789", min_size=size - 1, max_size=size - 1))
    right = [digit for digit in "0123456789" if ask(name, head + digit)]
    assert len(right) <= 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("luhn", "79927398713"),
        ("sin", "130692544"),
        ("bsn", "111222333"),
        ("aadhaar", "234123412346"),
        ("nhs_number", "9434765919"),
        ("tfn", "123456782"),
        ("iban", "DE89370400440532013000"),
        ("resident_id", "11010519491231002X"),
        ("codice_fiscale", "RCCMNL83S18D969H"),
        ("dni", "54362315K"),
    ],
)
def test_one_wrong_digit_breaks_the_number(name, value):
    places = [place for place, char in enumerate(value) if char.isdigit()]
    changed = [value[:at] + digit + value[at + 1 :] for at in places for digit in "0123456789" if digit != value[at]]
    assert [text for text in changed if ask(name, text)] == []


@pytest.mark.parametrize("name", ["aadhaar", "resident_id"])
def test_two_neighbours_in_the_wrong_order_break_the_number(name):
    value = {"aadhaar": "234123412346", "resident_id": "11010519491231002X"}[name]
    turned = [value[:at] + value[at + 1] + value[at] + value[at + 2 :] for at in range(len(value) - 1)]
    assert [text for text in turned if text != value and ask(name, text)] == []
