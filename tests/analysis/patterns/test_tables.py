"""Tables whose header names a column, and lines with something before them, through the shipped library."""

from __future__ import annotations

from functools import cache

import pytest

from lockgate.configuration.pattern_library.layers import read_shipped_layer
from lockgate.patterns.engine.request import CheckRequest
from lockgate.patterns.engine.scanner import Scanner
from lockgate.patterns.fields import Field
from lockgate.patterns.library.linking import link
from lockgate.patterns.library.merging import merge
from lockgate.patterns.model import Side
from lockgate.patterns.redaction.spans import redact
from support.pattern_library import scanner

A, B = "Tr0ub4dor&3x", "q9Xk2LmVz8" + "RtYw4PbN7sD"


@cache
def shipped() -> Scanner:
    return scanner(link(merge([read_shipped_layer()])).library)


def left(text: str) -> str:
    """What stays of a text; a value that is taken out leaves ``#``."""
    found = shipped().check([Field("", "", text)], CheckRequest(Side.OUTPUT, "Bash", timeout_ms=1e6)).pattern_matches
    return redact(text, [match._replace(replacement="#") for match in found])


TABLES = {
    "csv": "host,user,password,port\ndb1,app,{a},5432\ndb2,app,{b},5432\n",
    "csv with quotes": '"name","password"\r\n"Grafana, main","{a}"\r\n"Nexus","{b}"\r\n',
    "semicolons": "Benutzer;Kennwort;Rolle\nmeier;{a};admin\nmaier;{b};admin",
    "tabs": "user\tapi_key\tcreated\nanna\t{b}\t2026-01-02\n",
    "psql": " id | user | password \n----+------+----------\n  1 | bob  | {a}\n  2 | eve  | {b}\n(2 rows)\n",
    "mysql": "+----+--------+\n| id | secret |\n+----+--------+\n|  1 | {b} |\n+----+--------+\n",
    "Markdown": "| Service | Password |\n|:---|---:|\n| Jenkins | `{a}` |\n| Nexus | **{b}** |\n",
    "boxes": "┌──────┬──────────┐\n│ user │ password │\n├──────┼──────────┤\n│ bob  │ {a} │\n└──────┴──────────┘\n",
    "columns": "NAME      USER    PASSWORD\nmaster    root    {a}\nreplica   root    {b}\n",
    "HTML": "<table><tr><th>User</th><th>Password</th></tr>\n<tr><td>root</td><td><code>{a}</code></td></tr></table>",
    "HTML, by rows": "<tr>\n<th scope=row>DB password</th>\n<td>{a}</td>\n</tr>",
    "INSERT": "INSERT INTO t (id, password, at) VALUES (1, '{a}', now()), (2, '{b}', now());",
}


@pytest.mark.parametrize("name", TABLES)
def test_the_header_names_what_a_column_holds(name: str) -> None:
    assert left(TABLES[name].format(a=A, b=B)) == TABLES[name].format(a="#", b="#")


@pytest.mark.parametrize(
    "text",
    [
        "model,prompt_tokens,completion_tokens\nsmall,1200,340\n",
        "test,pass,fail\nlogin,112,0\n",
        "id,secret_name,last_rotated\n1,prod/db,2026-01-02\n",
        "user,password\nanna,changeme\nbob,********\nx,<password>\ny,${{PW}}\n",
        "| Option | Token | Meaning |\n|---|---|---|\n| a | required | x |\n| b | 12 | y |\n",
        "NAME           TOKENS   AGE\ndefault-x7k2p  1        22d\n",
        "def login(user, password, host):\n    return user, host, f'{{a1}}'\n",
        "login(user, password,\n      host, port1)\n",
        "INSERT INTO tokens (id, token) VALUES (1, ?), (2, 'refresh');",
        "<tr><th>token</th><td>The access token</td></tr>",
        "password, token,\nx9, y8\n",
    ],
)
def test_a_table_about_credentials_stays(text: str) -> None:
    assert left(text) == text


PREFIXES = {
    "grep -n": "src/prod.env:15:",
    "grep -n of one file": "15:",
    "git grep": "main:deploy/prod.env:9:",
    "git grep of a makefile": "v2.4:Makefile:9:",
    "grep -C": "src/prod.env-15-",
    "rg --vimgrep": "./conf/prod.env:22:5:",
    "numbers and tabs": "    14\t",
    "numbers and bars": "   17 |     ",
    "arrows": "    14→",
    "findstr": "C:\\app\\prod.env:27:",
    "compose": "api_1    | ",
    "diff": "+",
}
LINES = {
    "env": "DB_PASSWORD={a}\n",
    "yaml": "password: {a}\n",
    "a directive": "requirepass {a}\n",
    "quoted": 'const API_SECRET = "{b}";\n',
}


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_stands_before_a_line_hides_nothing(prefix: str, line: str) -> None:
    before = "@@ -1,2 +1,2 @@\n" if prefix == "diff" else ""
    text = before + PREFIXES[prefix] + LINES[line]
    assert left(text.format(a=A, b=B)) == text.format(a="#", b="#")


def test_lines_that_belong_together_are_put_together() -> None:
    text = "conf.xml:3:  <password>\nconf.xml:4:    {a}\nconf.xml:5:  </password>\n"
    assert left(text.format(a=A)) == text.format(a="#")


@pytest.mark.parametrize(
    "text",
    [
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-a1B2c3",
        "Type: AWS::IAM::AccessKey\n",
        "README.md:88:DB_PASSWORD=changeme\n",
        "src/app.py:14:    password = os.environ['DB_PASSWORD']\n",
        "auth.go:210:func check(password string, hash []byte) bool {\n",
    ],
)
def test_a_prefix_makes_no_value(text: str) -> None:
    assert left(text) == text
