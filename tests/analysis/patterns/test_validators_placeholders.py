import random
import string

import pytest

from lockgate.patterns.credentials.placeholders import is_placeholder
from lockgate.patterns.model import Candidate
from lockgate.patterns.validators import VALIDATORS

pytestmark = pytest.mark.slow

PLACEHOLDERS = [
    *"""
    changeme ChangeMe123 change_me your-api-key-here YOUR_API_KEY yourpassword your_password insert-token-here
    <token> <YOUR_API_KEY> <your-token> ${TOKEN} ${API_KEY:-none} {{token}} {{.Values.key}} %s %(password)s $TOKEN
    $password #{token} __TOKEN__ @TOKEN@ [REDACTED]
    xxxx aaaaaaaa ******** sk-... sk-abc...xyz ........ xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
    1234567890 abcdefghijkl 0123456789abcdef 1234567890abcdef1234567890abcdef12345678 9876543210 qwertyuiop
    00000000-0000-0000-0000-000000000000 12345678-1234-1234-1234-123456789012 1111222233334444
    deadbeefdeadbeefdeadbeefdeadbeef abc123def456ghi789 AKIAXXXXXXXXXXXXXXXX sk_live_xxxxxxxx sk-your-openai-key-here
    redacted REDACTED dummy dummykey test test123 test_key my_secret_key foo foobar fake-token-123 mysecrettoken
    wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
    """.split(),  # noqa: SIM905 - words
    "$(pass show aws)",
    "{% token %}",
    "gh" + "p_" + "x" * 36,
    "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789",
    "sk-" + "ant-api03-" + "x" * 80,
    "AK" + "IA1234567890ABCDEF",
    "AK" + "IAIOSFODNN7EXAMPLE",
]

VALUES = [
    *"""
    hunter2 S3cr3tP@ss! password123 correcthorsebatterystaple Tr0ub4dor&3 p@ssw0rd letmein123 contest-winner
    greatest-latest1 <3myDog99 a$b{c}d9 winter2024 latest-Kq7Zm2 5f4dcc3b5aa765d61d8327deb882cf99 exampl3-9fK2
    AAAAAAAAAAAAAAAAAAAAAGv7Kd9QmT2xWpZs4LrNcHyBf83JgUe6 test-8374659283746592
    f3a9c1d27b604e58a1c97d3350fe2b48-EXAMPLE-KEY
    """.split(),  # noqa: SIM905 - words
    "sk_" + "test_9hQ2mVtX4cRz7KpLw3NbYs6D",
    "sk_" + "live_9hQ2mVtX4cRz7KpLw3NbYs6D" + "xxxxx",
]

ALPHABETS = {
    "digits": string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "lower": string.ascii_lowercase,
    "base32": string.ascii_uppercase + "234567",
    "base36": string.ascii_lowercase + string.digits,
    "base62": string.ascii_letters + string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
    "base64url": string.ascii_letters + string.digits + "-_",
}
KEYS = 20_000


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_a_text_that_stands_for_a_value_is_a_placeholder(text):
    assert is_placeholder(text)


@pytest.mark.parametrize("text", VALUES)
def test_a_value_is_no_placeholder(text):
    assert not is_placeholder(text)


@pytest.mark.parametrize("alphabet", ALPHABETS.values(), ids=ALPHABETS)
def test_no_random_key_is_a_placeholder(alphabet):
    chance = random.Random(20)
    keys = ("".join(chance.choices(alphabet, k=chance.choice([16, 20, 32, 40, 64]))) for _ in range(KEYS))
    assert [key for key in keys if is_placeholder(key)] == []


def test_a_word_behind_a_whole_key_hides_nothing():
    key = "9hQ2mVtX4cRz7KpLw3NbYs6DfG1jT5uA"
    assert is_placeholder(key[:20] + "EXAMPLE")
    assert not is_placeholder(key + "xyEXAMPLE")


def test_the_validator_proves_nothing():
    def ask(value):
        return VALIDATORS["not_placeholder"](Candidate(value, value, "", "", ""), None)

    assert ask("changeme") is False
    assert ask("9hQ2mVtX4cRz7KpLw3NbYs6D") is None
