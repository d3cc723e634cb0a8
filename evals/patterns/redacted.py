"""What is left of values that tools give back, in notations that are easily missed: ``python evals/patterns/redacted.py``.

Each text is made from a seed: a notation with one planted value or more, among lines that hold none. A value is *gone*
where no four characters of it in a row are left. Nothing outside of a value may change. The exit status is 0 where 98 %
of the values are gone and no byte beside one was touched.
"""

# ruff: noqa: E501 - tables: a text a line
from __future__ import annotations

import argparse
import base64
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from credentials import machine_made, password  # noqa: E402
from scanner import open_scanner  # noqa: E402

from lockgate.patterns.engine.request import CheckRequest  # noqa: E402
from lockgate.patterns.engine.scanner import Scanner  # noqa: E402
from lockgate.patterns.fields import Field  # noqa: E402
from lockgate.patterns.model import Side  # noqa: E402

READABLE = 4
LEAST_GONE = 0.98
_OUTPUT = CheckRequest(Side.OUTPUT, "Bash", timeout_ms=60_000)

# {p} is a password, {k} a key that a machine made, {b} one in base64 with its padding.
BEHIND_PREFIXES: Sequence[str] = (
    "src/prod.env:15:DB_PASSWORD={p}\nsrc/prod.env:16:DB_HOST=db1",
    "./deploy/compose.yml:31:      POSTGRES_PASSWORD: {p}",
    '212:api_secret = "{k}"',
    'main:infra/vars.tf:9:  db_password = "{p}"',
    "HEAD~3:app/config.php:44:    'password' => '{p}',",
    "conf/application.yml:22:5:    password: {p}",
    "lib/mail.rb-18-  user_name: 'mailer',\nlib/mail.rb:19:  password: '{p}',\nlib/mail.rb-20-  authentication: 'plain'",
    '   17 |     const char *wifi_password = "{p}";\n      |                 ^~~~~~~~~~~~~',
    "> 8 | const API_SECRET = '{k}';",
    "@@ -2,3 +2,3 @@\n APP_ENV=prod\n-DB_PASSWORD={p}\n+DB_PASSWORD={p}\n",
    "3c3\n< db.password={p}\n---\n> db.password={p}",
    "api_1    | INFO boot ADMIN_TOKEN={k}",
    "Mar  1 08:11:02 web3 deployer[2211]: using SMTP_PASSWORD={p}",
    "    14\tSECRET_KEY = '{k}'\n    15\tDEBUG = True",
    "Makefile:12: DEPLOY_TOKEN = {k}",
    "redis.conf:3:requirepass {p}",
    "a.xml:3:  <password>\na.xml:4:    {p}\na.xml:5:  </password>",
    "12:database:\n13:  password: |\n14:    {p}\n15:  host: db1",
)
TABLES: Sequence[str] = (
    "host,user,password,port\ndb1.corp.test,app,{p},5432\ndb2.corp.test,report,{p},5432\n",
    '"name","url","password"\n"Grafana","https://g.corp.test","{p}"\n',
    "Benutzer;Passwort;Rolle\nmeier;{p};admin\nmaier;{p};user\n",
    "user\tapi_key\tcreated\nanna\t{k}\t2026-01-02\n",
    " id | username | password\n----+----------+----------\n  1 | admin    | {p}\n  2 | bob      | {p}\n(2 rows)\n",
    "-[ RECORD 1 ]-+------\nclient_id     | shop\nclient_secret | {k}\n",
    "+----+-------+--------+\n| id | login | secret |\n+----+-------+--------+\n|  1 | pay   | {k} |\n+----+-------+--------+\n",
    "id|name|token\n1|deploy|{k}\n",
    "| Service | User | Password |\n|---|---|---|\n| Jenkins | admin | {p} |\n| Nexus | deploy | `{p}` |\n",
    "| Setting | Value |\n| --- | --- |\n| SMTP password | {p} |\n| SMTP host | mail.corp.test |\n",
    "<tr><th>DB password</th><td>{p}</td></tr>",
    "<table><tr><th>User</th><th>Password</th></tr>\n<tr><td>root</td><td>{p}</td></tr></table>",
    "NAME      USER    PASSWORD\nmaster    root    {p}\n",
    "INSERT INTO clients (id, client_secret, active) VALUES ('shop', '{k}', true), ('app', '{k}', false);",
)
DECLARATIONS: Sequence[str] = (
    'var dbPassword string = "{p}"',
    'const apiToken string = "{k}"',
    'const DB_PASSWORD: &str = "{p}";',
    'pub static JWT_SECRET: &\'static str = "{k}";',
    'let client_secret = String::from("{k}");',
    'private let apiSecret: String = "{k}"',
    'const val STORE_PASSWORD = "{p}"',
    'Password : constant String := "{p}";',
    'const auth_token: []const u8 = "{k}";',
    "$dsn = 'mysql:host=db';\n$password .= '{p}';",
    'Map.of("user", "app", "password", "{p}")',
    'props.put("mail.smtp.password", "{p}");',
    'mapOf("user" to "app", "password" to "{p}")',
    'Map("secret" -> "{k}", "id" -> "7")',
    'map.insert("client_secret".to_string(), "{k}".to_string());',
    'uint8_t xor_key[] = "{k}";',
    'const hmacKey = Buffer.from("{k}", "hex");',
)
CONFIGURATION: Sequence[str] = (
    "database:\n  user: app\n  password: |\n    {p}\n  host: db1",
    "secret_key: >-\n  {k}\nnext: 1",
    "api_token: !!str {k}",
    "password: !unsafe '{p}'",
    "db_password: &dbpw {p}",
    '[database]\npassword = """{p}"""',
    '"random_password": {{"result": "{p}", "special": true}}',
    'resource "random_password" "db" {{\n    length  = 20\n    result  = "{p}"\n}}',
    "<password>\n      {p}\n    </password>",
    "<property>\n  <name>javax.jdo.option.ConnectionPassword</name>\n  <value>{p}</value>\n</property>",
    '<Resource name="jdbc/shop"\n          username="shop"\n          password="{p}"\n          type="javax.sql.DataSource"/>',
    "<key>APISecret</key>\n<string>{k}</string>",
    '<add value="{k}" key="ClientSecret"/>',
    "SERVICE_ROLE_KEY={k}",
    "x-functions-key: {k}",
    '"tenantApiKey":"{k}"',
    "RAILS_MASTER_KEY={k}",
    "signingkey = {k}",
    "PrivateKey = {b}\nAddress = 10.0.0.2/32",
    "token: {b}\nother: words of a sentence\n",
)
SHELLS_AND_SQL: Sequence[str] = (
    "DB_PASSWORD ?= {p}",
    "API_TOKEN := {k}",
    "set -x AWS_SECRET_ACCESS_KEY {k}",
    "set -Ux GITLAB_TOKEN {k}",
    "setenv PGPASSWORD {p}",
    "setx NPM_AUTH_TOKEN {k} /M",
    ': "${{ADMIN_PASSWORD:={p}}}"',
    'export DB_PASSWORD="${{DB_PASSWORD:-{p}}}"',
    "export SECRET=$'{k}'",
    "CREATE USER shop IDENTIFIED BY {p};",
    'ALTER USER scott IDENTIFIED BY "{p}" ACCOUNT UNLOCK;',
    "SET PASSWORD FOR 'root'@'localhost' = '{p}';",
    "GRANT ALL ON *.* TO 'r'@'%' IDENTIFIED BY '{p}' WITH GRANT OPTION;",
    "username=anna&password={p}&remember=1",
    "DATABASE_URL=postgresql://app:{k}@db/shop?ssl=true",
    "jdbc:postgresql://db1/shop?user=app&password={p}&ssl=true",
    "The password is {p}.",
    "the api key is {k}, and the host is db1.",
)
GROUPS = {
    "behind prefixes": BEHIND_PREFIXES,
    "tables": TABLES,
    "declarations": DECLARATIONS,
    "configuration": CONFIGURATION,
    "shells, SQL": SHELLS_AND_SQL,
}
_AROUND = ("", "# what the job printed", "done in 3.1 s", "total 12", "ok", "---", "Grüße aus Köln", "{}", "x += 1;")


class Text(NamedTuple):
    """A text with its planted values."""

    text: str
    group: str
    form: str
    spans: Sequence[tuple[int, int]]


def texts(seed: int, count: int) -> Iterator[Text]:
    """So many texts of each notation."""
    chance = Random(seed)
    for group, forms in GROUPS.items():
        for form in forms:
            for _ in range(count):
                yield _made(group, form, chance)


def _made(group: str, form: str, chance: Random) -> Text:
    before, behind = chance.choice(_AROUND), chance.choice(_AROUND)
    text, spans = before + "\n" if before else "", []
    for part in _SLOT.split(form):
        if part in _VALUES:
            value = _VALUES[part](chance)
            spans.append((len(text), len(text) + len(value)))
            text += value
        else:
            text += part.replace("{{", "{").replace("}}", "}")
    return Text(text + ("\n\n" + behind if behind else ""), group, form, spans)


def _password(chance: Random) -> str:
    """A password without what parts or ends values in some of the notations."""
    return password(chance).replace("%", "-").replace("#", "_")


def _key(chance: Random) -> str:
    return machine_made(chance).translate(str.maketrans("/+-=", "wxyz"))


def _padded(chance: Random) -> str:
    return base64.b64encode(chance.randbytes(chance.choice((16, 31, 32, 47)))).decode()


_SLOT = re.compile(r"(\{[pkb]\})")
_VALUES = {"{p}": _password, "{k}": _key, "{b}": _padded}


def judged(scanner: Scanner, text: Text) -> tuple[int, str]:
    """How many values are gone, and what else was taken out."""
    found = scanner.check([Field("", "", text.text)], _OUTPUT).pattern_matches
    taken = {at for match in found if match.redact for at in range(match.start, match.end)}
    values = {at for span in text.spans for at in range(*span)}
    return sum(_is_gone(span, taken) for span in text.spans), "".join(text.text[at] for at in sorted(taken - values))


def _is_gone(span: tuple[int, int], taken: set[int]) -> bool:
    run = 0
    for at in range(*span):
        run = 0 if at in taken else run + 1
        if run >= READABLE:
            return False
    return True


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=7, help="texts of each notation")
    parser.add_argument("--show", action="store_true", help="list what is wrong")
    arguments = parser.parse_args(given)
    scanner = open_scanner()
    tally = {group: [0, 0, 0, 0] for group in GROUPS}
    for text in texts(arguments.seed, arguments.count):
        gone, more = judged(scanner, text)
        counts = (1, len(text.spans), gone, int(bool(more)))
        tally[text.group] = [before + one for before, one in zip(tally[text.group], counts, strict=True)]
        if arguments.show and (more or gone < len(text.spans)):
            print("beside" if more else "left", repr(text.text)[:160], repr(more))
    tally["all"] = [sum(each) for each in zip(*tally.values(), strict=True)]
    for group, (number, planted, gone, beside) in tally.items():
        print(f"{group:18}{number:5} texts {planted:5} values  gone {gone / planted:6.1%}  changed beside {beside:3}")
    _, planted, gone, beside = tally["all"]
    return int(gone < LEAST_GONE * planted or beside > 0)


if __name__ == "__main__":
    sys.exit(main())
