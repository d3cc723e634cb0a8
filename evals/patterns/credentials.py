"""Credentials without a format of their own: assigned, in addresses, in headers; and what stands there without being one."""

# ruff: noqa: E501 - tables: a text a line
from __future__ import annotations

import base64
from collections.abc import Sequence
from random import Random

from formats import ALNUM, BASE64, HEX, URL_SAFE, some

ASSIGNED: Sequence[str] = (
    'api_key = "{v}"',
    "API_KEY={v}",
    "  apiKey: '{v}',",
    '"apiSecret": "{v}",',
    'const clientSecret = "{v}";',
    "client_secret: {v}",
    'String authToken = "{v}";',
    "export ACCESS_TOKEN={v}",
    "setx API_TOKEN {v}",
    "$env:CLIENT_SECRET = '{v}'",
    "define('AUTH_KEY', '{v}');",
    'config["secret_key"] = "{v}"',
    'secretKey := "{v}"',
    '<add key="ApiKey" value="{v}" />',
    "app.secret_key = b'{v}'",
    "encryption_key = {v}",
    'private const string SigningKey = "{v}";',
    'webhook_secret: "{v}"',
    "jwt.secret={v}",
    "ENV SECRET_KEY_BASE={v}",
    "heroku config:set SECRET_TOKEN={v} -a shop",
    '{{"access_token":"{v}","expires_in":3600}}',
    '{{"refresh_token": "{v}"}}',
    "SESSION_SECRET='{v}' node server.js",
    "docker run -e ADMIN_TOKEN={v} acme/api",
    'ENCRYPTION_KEY: !!str "{v}"',
    "  - name: API_KEY\n    value: {v}",
    "params = {{'api_key': '{v}', 'limit': 10}}",
    "token={v}",
    "let bearerToken = `{v}`;",
)
HEADERS: Sequence[str] = (
    "Authorization: Bearer {v}",
    "curl -H 'Authorization: Bearer {v}' https://api.corp.test/v1",
    'headers = {{"Authorization": "Bearer {v}"}}',
    'req.Header.Set("Authorization", "Bearer {v}")',
    "X-Api-Key: {v}",
    "headers: {{ 'x-api-key': '{v}' }}",
    'curl -H "X-Auth-Token: {v}" https://api.corp.test',
    "Authorization: Token {v}",
    "PRIVATE-TOKEN: {v}",
    "Cookie: lang=de; session_token={v}",
    "Set-Cookie: session_token={v}; HttpOnly; Secure",
    "> authorization: bearer {v}",
    'proxy_set_header Authorization "Bearer {v}";',
)
BASIC: Sequence[str] = (
    "Authorization: Basic {v}",
    "curl -H 'Authorization: Basic {v}' https://api.corp.test",
    '"auth": "{v}"',
)
PASSWORDS: Sequence[str] = (
    "password = '{v}'",
    '"password": "{v}"',
    "DB_PASSWORD={v}",
    "  password: {v}",
    "spring.datasource.password={v}",
    "mysql -u root -p{v} shop",
    "PGPASSWORD={v} psql -h db1 -U app",
    "net use X: \\\\files\\share /user:adm {v}",
    "IDENTIFIED BY '{v}'",
    "ALTER USER app WITH PASSWORD '{v}';",
    "conn = connect(host='db1', user='app', passwd='{v}')",
    "Server=db1;Database=shop;User Id=app;Password={v};",
    "requirepass {v}",
    "curl -u admin:{v} https://db1.corp.test/",
    "machine db1.corp.test login app password {v}",
    "pwd: {v}",
    "user: root pass: {v}",
    "auth = HTTPBasicAuth('app', '{v}')",
    "echo 'root:{v}' | chpasswd",
    "<password>{v}</password>",
    "redis-cli -a {v} ping",
    'smtp_password: "{v}"',
    "ansible_ssh_pass={v}",
    "let dbPassword = '{v}';",
    "wifi password: {v}",
)
ADDRESSES: Sequence[str] = (
    "postgres://app:{v}@db1.corp.test:5432/shop",
    "DATABASE_URL=postgresql://app:{v}@10.0.3.4/shop?sslmode=require",
    'url: "mysql://root:{v}@mysql:3306/shop"',
    "mongodb+srv://app:{v}@cluster0.ab1cd.mongodb.net/shop",
    "redis://:{v}@cache:6379/0",
    "amqp://shop:{v}@rabbit:5672/%2f",
    "git clone https://ci:{v}@git.corp.test/shop.git",
    "https://admin:{v}@grafana.corp.test/api",
    "ftp://upload:{v}@files.corp.test/in",
    "smtp://mailer:{v}@mail.corp.test:587",
    "jdbc:postgresql://db1/shop?user=app&password={v}",
    "engine = create_engine('mssql+pyodbc://sa:{v}@db1/shop')",
    "export HTTPS_PROXY=http://me:{v}@proxy.corp.test:3128",
    "ldap://cn=app:{v}@ldap.corp.test",
    "https://api.corp.test/v1?api_key={v}",
)
PLACEHOLDERS: Sequence[str] = (
    "YOUR_API_KEY", "your-token-here", "<token>", "${TOKEN}", "{{ token }}", "$TOKEN", "xxxxxxxxxxxxxxxx", "changeme",
    "REPLACE_ME", "********", "...", "process.env.TOKEN", "os.environ['KEY']", "getenv(\"KEY\")", "None", "null", "true",
    "my-secret", "example", "test", "dummy", "PLACEHOLDER", "%(token)s", "${{ secrets.TOKEN }}", "[REDACTED]", "string",
    "%s", "insert key", "1234567890", "<your password>", "password", "secret", "token", "env:TOKEN", "config.token",
    "vault:secret/data/app#key", "file:///run/secrets/key", "/run/secrets/db_password", "your_password_here", "foo", "bar",
    "FIXME", "TBD", "undefined", "&token", "!vault", "@token@", "__TOKEN__", "#{token}", "self.token", "args.password",
    "get_token()", "settings.SECRET_KEY", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app", "ENC[AES256]",
)  # fmt: skip

_WORDS = (
    "sommer",
    "winter",
    "dragon",
    "monkey",
    "liverpool",
    "charlie",
    "michelle",
    "hunter",
    "tiger",
    "ferrari",
    "shadow",
    "sunshine",
    "merlin",
    "bailey",
)


def machine_made(chance: Random) -> str:
    """A value of a generator: hexadecimal, base64, letters and digits."""
    alphabet, lengths = chance.choice(
        [(HEX, (32, 40, 64)), (ALNUM, (20, 24, 32, 40, 48)), (URL_SAFE, (22, 43, 64)), (BASE64, (32, 44, 64))]
    )
    return some(chance, alphabet, chance.choice(lengths))


def password(chance: Random) -> str:
    """A password of a password manager."""
    return some(chance, ALNUM, 3) + some(chance, ALNUM + "!#%*-_", chance.choice((9, 13, 17))) + some(chance, ALNUM, 3)


def human_made(chance: Random) -> str:
    """A password as a person makes one."""
    word, year = chance.choice(_WORDS), chance.choice(("1", "12", "123", "2024", "1987", "69", "007", "99"))
    return chance.choice(
        [
            word.capitalize() + year + chance.choice("!?.#"),
            word + year,
            word.capitalize() + "@" + year,
            word.replace("e", "3").replace("i", "1") + year,
            chance.choice(_WORDS) + "-" + word + "-" + year,
        ]
    )


def basic(chance: Random) -> str:
    """A user and a password in base64."""
    return base64.b64encode(f"app:{password(chance)}".encode()).decode()
