import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.patterns.credentials.classifier import is_basic_auth, is_credential
from lockgate.patterns.credentials.names import KEY, NOTHING, PASS, PASSWORD, SECRET, SOME_KEY, TOKEN, NameKind, kind_of
from lockgate.patterns.model import Candidate

RANDOM = "q9Xk2LmVz8" + "RtYw4PbN7sD"
HEX = "9f8a1c3e7d2b6405" + "ce1b9d7f3a2c8814"


def assigned(key: str, value: str, quote: str = '"', operator: str = " = ", after: str = "") -> Candidate:
    return Candidate(value, f"{key}{operator}{quote}{value}{quote}", key, "", after)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("password", PASSWORD),
        ("db_password_prod", PASSWORD),
        ("MYSQL_ROOT_PASSWORD", PASSWORD),
        ("spring.datasource.password", PASSWORD),
        ("userPassword", PASSWORD),
        ("dbpassword", PASSWORD),
        ("wifiPass", PASSWORD),
        ("senha", PASSWORD),
        ("contraseña", PASSWORD),
        ("пароль", PASSWORD),
        ("密码", PASSWORD),
        ("client_secret", SECRET),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("X-Api-Key", KEY),
        ("apiKey", KEY),
        ("accessToken", TOKEN),
        ("key", SOME_KEY),
        ("menuKey", SOME_KEY),
        ("signingkey", KEY),
        ("SERVICE_ROLE_KEY", SOME_KEY),
        ("hotkey", NOTHING),
        ("monkey", NOTHING),
        ("segment_write_key", NOTHING),
        ("ALGOLIA_WRITE_API_KEY", KEY),
        ("GPG_KEY", NOTHING),
        ("hostPassword", PASSWORD),
        ("mot de passe", PASSWORD),
        ("dbpwd", PASSWORD),
        ("userpass", PASSWORD),
        ("primaryKey", NOTHING),
        ("max_tokens", NOTHING),
        ("tokenizer", NOTHING),
        ("password_length", NOTHING),
        ("PASSWORD_RESET_TIMEOUT", NOTHING),
        ("passwordHash", NOTHING),
        ("clientSecretName", NOTHING),
        ("bypass", NOTHING),
        ("compass", NOTHING),
        ("renderPass", NOTHING),
        ("passArchitecture", PASS),
        ("passProd", PASSWORD),
        ("passUser", PASSWORD),
        ("passWord", PASSWORD),
        ("pass_prod", PASSWORD),
        ("PASS_BOB", PASSWORD),
        ("appPass", PASSWORD),
    ],
)
def test_names_say_what_they_hold(name: str, kind: NameKind) -> None:
    assert kind_of(name) is kind


@pytest.mark.parametrize(
    "value",
    [
        *("Summer2019!", "hunter2", "letmein123", "P@ssw0rd", "correct-horse-battery", "admin123", "qwerty", "rex2015"),
        *(
            "test2015",
            "Test1234!",
            "asdfgh1234",
            "devpassword123",
            "MyShop77",
            "shoppass",
            "kitten_pass",
            "four words said here",
        ),
        *("123", "123456", "vagrant", "S3cret!", "i<3kitty", RANDOM, HEX, "abqm zkrw ytpl odse"),
    ],
)
def test_people_choose_passwords(value: str) -> None:
    assert is_credential(assigned("password", value)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [("api_key", RANDOM), ("secret", HEX), ("auth_token", HEX), ("token", "6f1c9a52-8d3e-4b70-" + "9a1f-2c84d07e5b36")],
)
def test_machines_make_keys(key: str, value: str) -> None:
    assert is_credential(assigned(key, value)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("password", text) for text in ("password", "PASSWORD")),
        *(("password", text) for text in ("string", "Enter your password", "Mot de passe")),
        *(
            ("password", text)
            for text in ("${DB_PASSWORD}", "$DB_PASSWORD", "{{ password }}", "%(password)s", "<password>")
        ),
        *(
            ("password", text)
            for text in ("changeme", "your_password", "********", "xxxxxxxx", "required|min:8", "DB_PASSWORD")
        ),
        *(
            ("password", text)
            for text in ("/run/secrets/db", "https://vault.test/x", "db.password", "secret.txt", "[a-z0-9]{8,}")
        ),
        *(
            ("password", text)
            for text in ("$2b$12$" + RANDOM, "Contraseña", "パスワード", "ENC[" + RANDOM + "]", "vault:kv/db")
        ),
        *(
            ("token", text)
            for text in ("Identifier", "access_token", "X-Auth-Token", "hunter2", "4096", "user.token", "bearer")
        ),
        *(
            ("password", text)
            for text in (
                "mysql-root-password",
                "app_db_pass",
                "__none__",
                "%s&scope=%s",
                "{$rows[",
                "sua_senha",
                "chave_secreta_aqui",
            )
        ),
        *(("api_key", text) for text in ("OPENAI_API_KEY", "test-key")),
        *(("api_key", text) for text in ("your-api-key", "apiKey", "1234567890")),
        *(("max_tokens", RANDOM), ("password_hash", RANDOM), ("integrity", "sha512-" + RANDOM), ("commit", HEX)),
    ],
)
def test_what_only_stands_there_is_refused(key: str, value: str) -> None:
    assert is_credential(assigned(key, value)) is False


@pytest.mark.parametrize(
    "value",
    ["getpass()", "user.password", "passwd", "tokens[i]", "lexer.next()", "hashed", "os.environ['X']", "newPassword"],
)
def test_code_is_no_literal(value: str) -> None:
    assert is_credential(assigned("password", value, quote="")) is False


def test_a_word_is_a_password_in_a_file_of_settings_and_a_variable_in_code() -> None:
    assert is_credential(assigned("password", "vagrant", quote="", operator=": ", after="\n")) is None
    assert is_credential(assigned("password", "wagtail", quote="", operator=" = ", after="\n")) is None
    assert is_credential(assigned("password", "wagTail", quote="", operator=" = ", after="\n")) is False
    assert is_credential(assigned("password", "wag_tail", quote="", operator=" = ", after="\n")) is False
    assert is_credential(assigned("password", "wagtail", quote="", operator=" = ", after=" + salt\n")) is False
    assert is_credential(assigned("password", "wagtail", quote="", operator=": ", after=",\n")) is False


@pytest.mark.parametrize("before", ['"AWS::IAM::', "arn:aws:secretsmanager:*:*:"])
def test_the_name_of_a_type_or_a_resource_holds_nothing(before: str) -> None:
    assert is_credential(Candidate(HEX, f'secret": "{HEX}"', "secret", before, "")) is False


@pytest.mark.parametrize(
    "value",
    [
        "^8.5.1",
        "0x" + HEX + "0123abcd",
        "redis-auth-1",
        "pi_1_secret",
        "i->j",
        "AQoDYXdzEE0a8ANX" + "EXAMPLE",
        "your-stripe-key",
    ],
)
def test_versions_addresses_and_names_are_no_secrets(value: str) -> None:
    assert is_credential(assigned("client_secret", value)) is False


@pytest.mark.parametrize(
    "value", ["HS256", "aes-256-cbc", "AES/CBC/PKCS5Padding", "sha512", "test", "test-key", "my-key"]
)
def test_ciphers_and_words_are_no_keys(value: str) -> None:
    assert is_credential(assigned("encryption_key", value)) is False


def test_secrets_that_machines_ask_for_may_be_sentences() -> None:
    assert is_credential(assigned("secret", "feed the kittens")) is None
    assert is_credential(assigned("secret", "the client secret")) is False
    assert is_credential(assigned("secret_key", "thisissomethinglong")) is None


@pytest.mark.parametrize("key", ["pass", "PASS"])
def test_what_passes_is_no_password(key: str) -> None:
    assert is_credential(assigned(key, "green", operator=": ")) is False
    assert is_credential(assigned(key, "green42", operator=": ")) is None


def test_a_pass_over_something_has_a_name_and_a_password_more() -> None:
    assert is_credential(assigned("passArchitecture", "single", operator=": ", quote="'")) is False
    assert is_credential(assigned("passArchitecture", "Single2019!", operator=": ", quote="'")) is None
    assert is_credential(assigned("passAdmin", "sunshine", operator=": ", quote="'")) is None


@pytest.mark.parametrize(
    ("value", "after"),
    [("s*bearers+", ")[a-z0-9._-]+/gi"), ("k9[A-Za-z0-9_-]{20,}", ""), (r"k9[\w-]+", ""), (RANDOM, "[0-9]+")],
)
def test_a_regular_expression_holds_no_example(value: str, after: str) -> None:
    assert is_credential(assigned("authorization", value, quote="", operator=":", after=after)) is False
    assert is_credential(assigned("authorization", RANDOM, quote="", operator=":")) is None


def test_a_pass_phrase_has_words_and_a_number() -> None:
    assert is_credential(assigned("passphrase", "mango tree 42")) is None
    assert is_credential(assigned("passphrase", "must be at least 8 characters or more")) is False


def test_where_the_form_is_certain_a_name_is_not_needed() -> None:
    assert is_credential(Candidate("wagtail", "wagtail", "", "", "")) is None
    assert is_credential(Candidate("password", "password", "", "", "")) is False


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("bob:hunter2", True),
        (f"{RANDOM}:", True),
        (f":{RANDOM}", True),
        ("user:password", False),
        ("bob:<password>", False),
        ("no colon in it", False),
    ],
)
def test_basic_authorization_is_decoded(text: str, found: bool) -> None:
    value = base64.b64encode(text.encode()).decode()
    assert (is_basic_auth(Candidate(value, value, "", "", "")) is None) is found


@given(st.text(max_size=80), st.text(max_size=200), st.text(max_size=20), st.none() | st.floats(-3, 3))
def test_nothing_is_raised_whatever_stands_there(key: str, value: str, after: str, form: float | None) -> None:
    candidate = Candidate(value, f"{key}={value}", key, "", after)
    assert is_credential(candidate, form) in (None, False)
    assert is_basic_auth(candidate) in (None, False)


@pytest.mark.parametrize("after", ["(x", ".x", "[0]", ""])
def test_what_stands_behind_an_address_says_nothing(after: str) -> None:
    value = "t5Rw9qLz" + "Xk2m"
    assert is_credential(Candidate(value, f"postgres://app:{value}@db/", "", "", after)) is None


@pytest.mark.parametrize("line", ["2:kind: Secret", "17-type: Opaque", "123:"])
def test_what_grep_prints_before_a_line_is_no_value(line: str) -> None:
    assert is_credential(Candidate(line, f"secret.yaml:{line}", "secret.yaml", "./k8s/", "")) is False


def test_the_type_of_a_field_is_no_literal_and_a_pass_phrase_of_words_is() -> None:
    for key, value, operator, after in [
        ("auth", "McpHttpAuth", ": ", ","),
        ("tokens", "StoredMcpOAuthTokens", ": ", "\n"),
        ("auth", "McpHttpAuth", " = ", " {"),
        ("password", "HashedPasswordText", ": ", ";"),
    ]:
        assert is_credential(assigned(key, value, "", operator, after)) is False, (key, value)
    assert is_credential(assigned("DB_PASSWORD", "CorrectHorseBatteryStaple", "", "=", "\n")) is None
    assert is_credential(assigned("auth_token", f"Ab{RANDOM}", "", ": ", ",")) is None


def test_prose_in_another_script_may_hold_a_digit_and_a_password_too() -> None:
    assert (
        is_credential(
            assigned("AuthIntro", "\u8a8d\u8a3c\u60c5\u5831\u30921\u3064\u9078\u629e\u3002OAuth\u3067\u3059\u3002")
        )
        is False
    )
    assert (
        is_credential(assigned("\u043f\u0430\u0440\u043e\u043b\u044c", "\u043f\u0440\u0438\u0432\u0435\u0442123"))
        is None
    )


@pytest.mark.parametrize(
    ("key", "value", "quote", "operator"),
    [
        ("js-tokens", "npm:^4.0.0", '"', ": "),
        ("pass", "exit_code=0", '"', "("),
        ("pass", "unix_socket_perms=0o660", "`", " "),
        ("pass", "mt-0", "`", " "),
        ("pass", "content-no-js", "`", ": "),
        ("password", "x-oauth-basic", '"', "==="),
        ("VAPID_PRIVATE_KEY", "+jwk.d)})", "'", "="),
        ("Authorization", "u003ctoken", "", ": "),
    ],
)
def test_versions_conditions_and_code_are_no_secrets(key: str, value: str, quote: str, operator: str) -> None:
    assert is_credential(assigned(key, value, quote, operator)) is False


def test_the_file_of_accounts_is_no_name_of_a_password() -> None:
    assert is_credential(Candidate("etc/passwd", "passwd` -> `etc/passwd`", "passwd", "`/etc/", "")) is False
    assert is_credential(assigned("pass", "hunter2xyz9", "`", ": ")) is None


@pytest.mark.parametrize("name", ["confirm_token", "confirmationToken", "group.confirm_token"])
def test_what_an_answer_gives_for_the_next_call_confirms_it_and_lets_nobody_in(name: str) -> None:
    assert is_credential(assigned(name, HEX[:12], operator=": ")) is False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("token", HEX[:12]),
        ("confirm_token", HEX),  # as long as the link in a mail to a new user
        ("confirm_token", HEX[:13]),
        ("confirm_token", RANDOM),
        ("token_confirm_secret", HEX[:12]),
        ("confirm_secret", HEX[:12]),
        ("confirm_api_key", HEX[:12]),
        ("confirm_password", HEX[:12]),
        ("unconfirmed_token", HEX[:12]),
        ("confirm_access_token", HEX[:12]),
    ],
)
def test_what_lets_somebody_in_is_no_confirmation(name: str, value: str) -> None:
    assert is_credential(assigned(name, value, operator=": ")) is None


@pytest.mark.parametrize("name", ["SSH_AUTH_SOCK", "auth_socket", "u_AuthUI"])
def test_a_socket_and_a_window_hold_nothing(name: str) -> None:
    assert kind_of(name) is NOTHING
    assert kind_of("SOCKET_AUTH_TOKEN") is TOKEN
    assert kind_of("ui_secret") is SECRET
