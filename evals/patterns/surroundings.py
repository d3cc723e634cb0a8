"""Where values stand: code, configuration, logs, shells, requests. ``{v}`` is the value."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

FORMS: Mapping[str, tuple[str, ...]] = {
    "code": (
        'client = Client("{v}")\nfor item in client.items():\n    print(item.name)\n',
        "const client = new Client({{ auth: '{v}' }});\nawait client.connect();\n",
        'func main() {{\n\tc := api.New("{v}")\n\tdefer c.Close()\n}}\n',
        'let client = Client::new("{v}".to_string());\n',
        'private static final String TOKEN = "{v}";\n',
        "$client = new Client('{v}');\n",
        'client = Acme::Client.new(access_token: "{v}")\n',
        'var client = new AcmeClient("{v}") {{ Timeout = 30 }};\n',
        'let token = "{v}"\nrequest.setValue("Bearer \\(token)", forHTTPHeaderField: "Authorization")\n',
        "# TODO remove before release: {v}\ndef load():\n    return None\n",
        "def test_login(client):\n    assert client.login('{v}').status == 200\n",
        "// {v}\nexport default config;\n",
    ),
    "configuration": (
        "# production\nPORT=8080\nAPI_TOKEN={v}\nLOG_LEVEL=info\n",
        'export SERVICE_TOKEN="{v}"\n',
        "services:\n  api:\n    token: {v}\n    replicas: 2\n",
        'service:\n  name: api\n  token: "{v}"\n',
        '{{\n  "name": "api",\n  "token": "{v}",\n  "retries": 3\n}}\n',
        '{{"env":{{"TOKEN":"{v}","DEBUG":"0"}}}}',
        '[service]\nendpoint = "https://api.corp.test"\ntoken = "{v}"\n',
        "[default]\ntoken = {v}\nregion = eu-west-1\n",
        'resource "acme_app" "x" {{\n  token = "{v}"\n}}\n',
        "<configuration>\n  <token>{v}</token>\n</configuration>\n",
        "ENV TOKEN={v}\nRUN make install\n",
        "      - run: ./deploy.sh\n        env:\n          TOKEN: {v}\n",
    ),
    "shell": (
        "$ export TOKEN={v}\n$ ./deploy.sh --region eu\n",
        "  412  cd /srv/app\n  413  acme login --token {v}\n  414  ls -l\n",
        ": 1712345678:0;acme login {v}\n",
        "curl -s -H 'X-Token: {v}' https://api.corp.test/v1/items | jq .\n",
        "echo '{v}' | acme login --stdin\n",
        "TOKEN='{v}' npm run deploy\n",
    ),
    "log": (
        "2026-03-01T12:00:01.120Z INFO  http: request sent token={v} status=200 took=12ms\n",
        '[2026-03-01 12:00:01] app.ERROR: cannot connect {{"token":"{v}"}} []\n',
        "Mar  1 12:00:01 web1 app[812]: started with {v}\n",
        'Traceback (most recent call last):\n  File "app.py", line 3, in <module>\nAuthError: bad token: {v}\n',
        "> Authorization: Bearer {v}\r\n> Accept: */*\r\n\r\n",
    ),
    "text": (
        "Please use {v} until Friday.\n",
        "## Setup\n\n1. Run `acme login {v}`\n2. Start the server\n",
        "hey, the new one is {v}, can you try?\n",
        "| name | token |\n| --- | --- |\n| prod | {v} |\n",
        "name,token\nprod,{v}\n",
        "{v}",
        "({v})\n",
    ),
    "diff": (
        'diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,3 @@\n import os\n+TOKEN = "{v}"\n',
        "-token = os.environ['TOKEN']\n+token = '{v}'\n",
    ),
    "address": (
        "https://api.corp.test/v1/items?limit=10&token={v}\n",
        "https://api.corp.test/hook#access_token={v}&state=1\n",
    ),
}
"""By kind of text."""

LINES = (
    "from app import models\nimport logging\n\nlog = logging.getLogger(__name__)\n",
    "# The list of items, newest first.\n",
    "const express = require('express');\nconst app = express();\n",
    "version: 3\nname: shop\n",
    "In 2024 we moved all 1,532 customers to version 4.12.0 of the API.\n",
    "commit 5f2b8c0d9e1a4c7b6a3d2e1f0b9c8d7e6f5a4b3c\nDate:   Sun Mar 1 12:00:01 2026 +0100\n",
)
"""What stands around a value and is none."""

_NOT_IN_ADDRESS = frozenset(" \"'\n<>&#=;")


def put(value: str, kind: str, chance: Random) -> tuple[str, int]:
    """A value in surroundings of a kind; gives the text and where the value begins."""
    form = chance.choice(FORMS[kind])
    before, _, after = form.partition("{v}")
    before, after = _filled(before), _filled(after)
    if chance.random() < 0.3:
        before = chance.choice(LINES) + before
    if chance.random() < 0.3:
        after = after.rstrip("\n") + "\n" + chance.choice(LINES)
    return before + value + after, len(before)


def kinds_for(value: str) -> list[str]:
    """Kinds of surroundings that a value can stand in as it is."""
    if "\n" in value or "= " in value:
        return ["text"]
    return [kind for kind in FORMS if kind != "address" or not _NOT_IN_ADDRESS.intersection(value)]


def _filled(piece: str) -> str:
    return piece.replace("{{", "{").replace("}}", "}")
