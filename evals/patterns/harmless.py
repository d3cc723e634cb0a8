"""Texts that hold nothing, made by chance: hashes, numbers, ids, logs, lock files, and the forms of keys without a key."""

# ruff: noqa: E501 - tables: a text a line
from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from random import Random

import credentials
from formats import ALNUM, BASE64, DIGITS, HEX, LOWER, UPPER, some, uuid
from people import luhn_digit

Maker = Callable[[Random], str]
_WORDS = [
    "add",
    "fix",
    "remove",
    "update",
    "the",
    "parser",
    "handler",
    "for",
    "empty",
    "input",
    "cache",
    "retry",
    "timeout",
    "of",
    "users",
    "when",
    "list",
    "is",
    "missing",
]


def _words(chance: Random, count: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(count))


def _sri(chance: Random) -> str:
    return "sha512-" + base64.b64encode(chance.randbytes(64)).decode()


def _package_lock(chance: Random) -> str:
    name, version = some(chance, LOWER, 7), f"{chance.randrange(9)}.{chance.randrange(30)}.{chance.randrange(9)}"
    address = f"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz"
    return f'    "node_modules/{name}": {{\n      "version": "{version}",\n      "resolved": "{address}",\n      "integrity": "{_sri(chance)}",\n      "license": "MIT"\n    }},\n'


def _yarn_lock(chance: Random) -> str:
    name, version = some(chance, LOWER, 7), f"{chance.randrange(9)}.{chance.randrange(30)}.0"
    return f'{name}@^{version}:\n  version "{version}"\n  resolved "https://registry.yarnpkg.com/{name}/-/{name}-{version}.tgz#{some(chance, HEX, 40)}"\n  integrity {_sri(chance)}\n'


def _requirements(chance: Random) -> str:
    return f"{some(chance, LOWER, 6)}==1.{chance.randrange(30)}.0 \\\n    --hash=sha256:{some(chance, HEX, 64)} \\\n    --hash=sha256:{some(chance, HEX, 64)}\n"


def _cargo_lock(chance: Random) -> str:
    return f'[[package]]\nname = "{some(chance, LOWER, 6)}"\nversion = "1.0.{chance.randrange(99)}"\nsource = "registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "{some(chance, HEX, 64)}"\n'


def _go_sum(chance: Random) -> str:
    return f"github.com/acme/{some(chance, LOWER, 5)} v1.{chance.randrange(20)}.0 h1:{base64.b64encode(chance.randbytes(32)).decode()}\n"


def _poetry_lock(chance: Random) -> str:
    return f'content-hash = "{some(chance, HEX, 64)}"\nfiles = [\n    {{file = "a-1.0-py3-none-any.whl", hash = "sha256:{some(chance, HEX, 64)}"}},\n]\n'


def _no_card(chance: Random) -> str:
    body = "4" + some(chance, DIGITS, 14)
    return body + str((int(luhn_digit(body)) + chance.randrange(1, 10)) % 10)


LOCKS: Mapping[str, Maker] = {
    "package-lock.json": _package_lock, "yarn.lock": _yarn_lock, "requirements.txt": _requirements,
    "Cargo.lock": _cargo_lock, "go.sum": _go_sum, "poetry.lock": _poetry_lock,
}  # fmt: skip
HASHES: Sequence[Callable[[Random], str]] = (
    lambda chance: (
        f"commit {some(chance, HEX, 40)}\nAuthor: A. Smith\nDate:   Sun Mar 1 12:00:01 2026 +0100\n\n    {_words(chance, 6)}\n"
    ),
    lambda chance: f"{some(chance, HEX, 7)} {_words(chance, 5)}\n{some(chance, HEX, 7)} {_words(chance, 4)}\n",
    lambda chance: f"index {some(chance, HEX, 7)}..{some(chance, HEX, 7)} 100644\n",
    lambda chance: f"{some(chance, HEX, 64)}  dist/app-1.2.0.tar.gz\n",
    lambda chance: f"{some(chance, HEX, 32)} *setup.exe\n",
    lambda chance: f"FROM python:3.12@sha256:{some(chance, HEX, 64)}\n",
    lambda chance: f"      - uses: actions/checkout@{some(chance, HEX, 40)} # v4.2.2\n",
    lambda chance: f'ETag: "{some(chance, HEX, 32)}"\n',
    lambda chance: f"sha256: {some(chance, HEX, 64)}\n",
    lambda chance: f"git rev-parse HEAD\n{some(chance, HEX, 40)}\n",
    lambda chance: f"pick {some(chance, HEX, 9)} {_words(chance, 5)}\n",
    lambda chance: f"SHA256:{base64.b64encode(chance.randbytes(32)).decode().rstrip('=')} a@b (ED25519)\n",
    lambda chance: (
        f'<script src="/app.js" integrity="sha384-{base64.b64encode(chance.randbytes(48)).decode()}" crossorigin></script>\n'
    ),
    lambda chance: f"main.{some(chance, HEX, 20)}.js  512 kB\nvendor.{some(chance, HEX, 8)}.css 12 kB\n",
    lambda chance: f"cache-key: deps-{some(chance, HEX, 64)}\n",
    lambda chance: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{some(chance, BASE64, 43)} a@b\n",
    lambda chance: f"password_hash: $2b$12${some(chance, ALNUM, 53)}\n",
    lambda chance: f"down_revision = '{some(chance, HEX, 12)}'\nrevision = '{some(chance, HEX, 12)}'\n",
)
IDS: Sequence[Callable[[Random], str]] = (
    lambda chance: f"id: {uuid(chance)}\n",
    lambda chance: f'{{"request_id": "{uuid(chance)}", "user": {chance.randrange(10**6)}}}\n',
    lambda chance: f"task-{some(chance, HEX, 32)} started\n",
    lambda chance: f"/subscriptions/{uuid(chance)}/resourceGroups/shop\n",
    lambda chance: f"trace_id={some(chance, HEX, 32)} span_id={some(chance, HEX, 16)}\n",
    lambda chance: f"traceparent: 00-{some(chance, HEX, 32)}-{some(chance, HEX, 16)}-01\n",
    lambda chance: f"pod/api-{some(chance, HEX, 10)}-{some(chance, LOWER, 5)} 1/1 Running\n",
    lambda chance: f"arn:aws:iam::{some(chance, DIGITS, 12)}:role/shop-{some(chance, LOWER, 6)}\n",
    lambda chance: f"i-{some(chance, HEX, 17)} vpc-{some(chance, HEX, 17)} subnet-{some(chance, HEX, 17)}\n",
    lambda chance: f"container {some(chance, HEX, 64)} exited\n",
    lambda chance: f'"_id": ObjectId("{some(chance, HEX, 24)}")\n',
    lambda chance: (
        f"01H{some(chance, DIGITS + UPPER.replace('I', '').replace('L', '').replace('O', '').replace('U', ''), 23)} created\n"
    ),
    lambda chance: f"cus_{some(chance, ALNUM, 14)} paid pi_{some(chance, ALNUM, 24)}\n",
    lambda chance: f"session: sess_{chance.randrange(10**6)}\nuser_id: usr_{some(chance, DIGITS, 8)}\n",
    lambda chance: f"toolu_01{some(chance, ALNUM, 22)}\n",
    lambda chance: f"msg_{some(chance, ALNUM, 24)} chatcmpl-{some(chance, ALNUM, 29)}\n",
    lambda chance: f"https://example.org/d/{some(chance, ALNUM, 24)}/edit\n",
    lambda chance: f"https://www.youtube.com/watch?v={some(chance, ALNUM, 11)}\n",
)
NUMBERS: Sequence[Callable[[Random], str]] = (
    lambda chance: f"created_at: {1_600_000_000 + chance.randrange(2 * 10**8)}\n",
    lambda chance: f'{{"ts": {1_600_000_000_000 + chance.randrange(10**11)}, "value": {chance.random()}}}\n',
    lambda chance: f"order {_no_card(chance)} shipped\n",
    lambda chance: (
        f"version {chance.randrange(200)}.{chance.randrange(20)}.{chance.randrange(9000)}.{chance.randrange(200)}\n"
    ),
    lambda chance: f"{chance.uniform(-180, 180):.14f}, {chance.uniform(-90, 90):.13f}\n",
    lambda chance: f"0x{some(chance, HEX, 16)} in main () at app.c:{chance.randrange(900)}\n",
    lambda chance: f"build 2026{chance.randrange(1, 13):02d}{chance.randrange(1, 29):02d}.{chance.randrange(1, 99)}\n",
    lambda chance: f"{some(chance, DIGITS, 20)}\n",
    lambda chance: f"ISBN 978-3-16-{some(chance, DIGITS, 6)}-{chance.randrange(10)}\n",
    lambda chance: (
        f"total: {chance.randrange(10**9)} bytes in {chance.randrange(10**4)} files ({chance.random() * 100:.2f} %)\n"
    ),
    lambda chance: f"#{some(chance, HEX, 6)}; rgba({chance.randrange(255)}, {chance.randrange(255)}, 0, .5)\n",
    lambda chance: (
        f"listening on 127.0.0.1:{chance.randrange(1024, 65535)}, peer 192.168.{chance.randrange(255)}.{chance.randrange(255)}\n"
    ),
)
CODE: Sequence[str] = (
    "src/variants/button.tsx\n", "npm run evaluate\n", "npm run build && npm test\n", "const password = await prompt('Password: ');\n",
    "def check_password(self, raw_password: str) -> bool:\n    return self.hasher.verify(raw_password, self.password)\n",
    "if (!user.password) { throw new Error('password is required'); }\n", "token = next(tokens)\n", "self._token = token\n",
    "password: Joi.string().min(8).required(),\n", 'placeholder="Enter your password"\n', "secrets.token_urlsafe(32)\n",
    "label: 'API key (from your account settings)'\n", "  secretName: shop-database-credentials\n", "tokenizer = AutoTokenizer.from_pretrained(name)\n",
    "assert response.json() == {'detail': 'Invalid credentials'}\n", "AUTH_TOKEN_EXPIRY_SECONDS = 3600\n", "key = f\"{prefix}:{user_id}\"\n",
    "sort_key = lambda item: item.created_at\n", "PRIMARY_KEY_COLUMN = 'customer_identifier'\n", "passwordField.setAttribute('type', 'text');\n",
    "public_key = load_public_key(path)\n", "env:\n  GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}\n", "export PASSWORD=$(pass show shop/db)\n",
    "password = getpass.getpass()\n", "const token = req.headers.authorization?.split(' ')[1];\n", "access_token: str | None = None\n",
    "token_type = 'bearer'\n", "SELECT id, password_hash FROM users WHERE email = ?\n", "kubectl get secret shop -o jsonpath='{.data.password}'\n",
    "aws secretsmanager get-secret-value --secret-id prod/shop/db\n", "<input type=\"password\" name=\"password\" autocomplete=\"current-password\">\n",
    "Forgot your password? We will send you a link.\n", "passwordless login is now the default\n", "The API key is sent in the header X-Api-Key.\n",
    "auth: { type: 'oauth2', flow: 'authorizationCode' }\n", "-----BEGIN CERTIFICATE-----\n", "-----BEGIN PUBLIC KEY-----\n", "password_reset_timeout: 86400\n",
    "redis://localhost:6379/0\n", "postgresql://localhost/shop\n", "DATABASE_URL=postgres://user:password@localhost:5432/db\n",
    "mongodb://localhost:27017/test\n", "https://user:pass@example.com/\n", "ssh://git@github.com/acme/shop.git\n", "git@github.com:acme/shop.git\n",
    "keys = sorted(mapping.keys(), key=str.lower)\n", "sk-button--primary sk-loading-spinner-container\n", "task-runner-concurrency-limit-per-worker-node\n",
    "import { SecretClient } from '@azure/keyvault-secrets';\n", "using System.Security.Cryptography.X509Certificates;\n",
    "org.springframework.security.oauth2.client.registration.ClientRegistrationRepository\n", "getAccessTokenForServiceAccountImpersonation()\n",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\n", "0123456789abcdef0123456789abcdef\n", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\n",
    "d=\"M12 2C6.48 2 2 6.48 2 12s4.48 10 10 10 10-4.48 10-10S17.52 2 12 2zm0 18c-4.41 0-8-3.59-8-8s3.59-8 8-8z\"\n",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "sk-...\n", "AKIA" + "IOSFODNN7EXAMPLE\n", "xoxb-your-token-here\n", "sk_test_...\n", "ghp_<your token>\n",
)  # fmt: skip


def packed(chance: Random) -> str:
    """Data that is encoded, and holds nothing."""
    data = json.dumps({"name": _words(chance, 2), "items": [_words(chance, 3) for _ in range(4)], "page": 3}).encode()
    coded = chance.choice(
        [base64.b64encode(data).decode(), data.hex(), base64.urlsafe_b64encode(data).decode().rstrip("=")]
    )
    blob = base64.b64encode(hashlib.sha512(data).digest() * 3).decode()
    return chance.choice(
        [f"payload={coded}\n", f"cursor: {coded}\n", f"data:font/woff2;base64,{blob}\n", f'"state": "{coded}"\n']
    )


def placeholder(chance: Random) -> tuple[str, str]:
    """A form of a credential without one; gives the text and the group of forms."""
    name, forms = chance.choice(
        [
            ("assigned", credentials.ASSIGNED),
            ("headers", credentials.HEADERS),
            ("passwords", credentials.PASSWORDS),
            ("addresses", credentials.ADDRESSES),
        ]
    )
    form = chance.choice(forms).replace("{v}", "\0").replace("{{", "{").replace("}}", "}")
    return form.replace("\0", chance.choice(credentials.PLACEHOLDERS)), name
