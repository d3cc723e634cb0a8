"""The table of sources: each file's format finds what its examples say; readers of the formats; which values count."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.configuration.known_secrets import build
from lockgate.configuration.known_secrets.collect import SearchScope, gather, look_deep, sources
from lockgate.configuration.known_secrets.formats import READERS
from lockgate.configuration.known_secrets.selection import is_rare, says_secret, secrets_in

TABLE = build.load(build.HERE / "sources.yaml")
A, B = "tR7kQp09" + "vLxZ0aBw", "q7Wn2kZp" + "40aVdLm8"


def place(tmp_path: Path, path: str) -> tuple[SearchScope, Path]:
    """An empty home and workspace, and where a file of the table lies in them."""
    home, workspace = tmp_path / "home", tmp_path / "work"
    workspace.mkdir()
    path = path.replace("*", "local")
    file = home / path[2:] if path.startswith("~/") else workspace / path
    file.parent.mkdir(parents=True, exist_ok=True)
    return SearchScope(str(home), str(workspace), {}), file


def values(where: SearchScope) -> dict[str, str]:
    found = gather(where, sources(where, look_deep(where.workspace)))
    return {named.name: named.value.decode() for named in found}


EXAMPLES = [(row["path"], example) for row in TABLE["files"] for example in row["examples"]]


@pytest.mark.parametrize(("path", "example"), EXAMPLES, ids=[path for path, _ in EXAMPLES])
def test_examples(tmp_path: Path, path: str, example: dict[str, Any]) -> None:
    where, file = place(tmp_path, path)
    file.write_text("".join(example["text"]))
    shown = path.replace("*", "local")
    expected = {(f"{shown}: {name}" if name else shown, "".join(value)) for name, value in example["values"].items()}
    found = {(named.name, named.value.decode()) for named in gather(where, sources(where, look_deep(where.workspace)))}
    assert expected <= found
    # What is encoded counts decoded too, under the same name.
    assert {name for name, _ in expected} == {name for name, _ in found}


def test_names() -> None:
    examples = TABLE["names"]["examples"]
    assert [name for name in examples["yes"] if not says_secret(name)] == []
    assert [name for name in examples["no"] if says_secret(name)] == []


def test_the_table_is_compiled() -> None:
    table = build.HERE / "sources.yaml"
    assert table.with_suffix(".json").read_text() == build.compile_table(table)


# ---------------------------------------------------------------- formats

FORMATS: dict[str, tuple[str, str, dict[str, str]]] = {
    "single quotes are literal": ("dotenv", "A='x\\ny $B' # c", {"A": "x\\ny $B"}),
    "double quotes have escapes": ("dotenv", 'A="x\\n\\"y\\\\"', {"A": 'x\n"y\\'}),
    "several lines": ("dotenv", 'A="one\ntwo"\nB=3', {"A": "one\ntwo", "B": "3"}),
    "backquotes": ("dotenv", 'A=`it\'s "so"`', {"A": 'it\'s "so"'}),
    "a hash inside": ("dotenv", "A=a#b #c", {"A": "a#b"}),
    "only a comment": ("dotenv", "A=#b\n#C=d", {"A": ""}),
    "a quote without an end": ("dotenv", "A='b\nC=d", {"A": "b", "C": "d"}),
    "spaces around": ("dotenv", "  export A = b  \r\nC=d\r\n", {"A": "b", "C": "d"}),
    "a colon instead": ("dotenv", "A: b", {"A": "b"}),
    "what is no assignment": ("dotenv", 'if [ "$A" = b ]; then\n=x\nnothing\n', {}),
    "sections": ("ini", "a=1\n[s]\n; c\n# d\nb = 2 # e\n", {"a": "1", "[s] b": "2"}),
    "an equals sign in a value": ("ini", "a=b==", {"a": "b=="}),
    "TOML": ("ini", '[a.b]\n"c" = "d # e" # f', {"[a.b] c": "d # e"}),
    "npm": ("ini", "//r.example/:_authToken=abc", {"_authToken": "abc"}),
    "JSON": ("json", '{"a": [{"b": "c"}], "d": 1, "e": "f"}', {"a.0.b": "c", "e": "f"}),
    "no JSON": ("json", '{"a": ', {}),
    "deep JSON": ("json", '{"a":' * 30 + '"x"' + "}" * 30, {}),
    "YAML": ("yaml", "a:\n  - b: 'c'  # d\n  :e: f\n# g: h\n", {"b": "c", "e": "f"}),
    "netrc in one line": ("netrc", "machine h login l password p", {"password for h": "p"}),
    "netrc default": ("netrc", 'default\nlogin l\npassword "p"', {"password for any machine": "p"}),
    "netrc login called password": ("netrc", "machine h login password password p", {"password for h": "p"}),
    "pgpass": ("pgpass", "h:1:d:u:a\\:b\\\\c\nshort:1\n", {"password for h": "a:b\\c"}),
    "raw": ("raw", "\n x \n", {"": "x"}),
    "no private key": ("pem", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----", {}),
    "no key at all": ("pem", "x", {}),
}


@pytest.mark.parametrize(("name", "text", "expected"), FORMATS.values(), ids=FORMATS)
def test_formats(name: str, text: str, expected: dict[str, str]) -> None:
    assert dict(READERS[name](text)) == expected


@pytest.mark.parametrize("name", READERS)
@given(text=st.text(st.sampled_from("ab=:'\"#\\\n []{}@/-.") | st.characters(codec="utf-8"), max_size=200))
def test_readers_read_anything(name: str, text: str) -> None:
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in READERS[name](text))


# ---------------------------------------------------------------- which values count

CHOSEN: dict[str, tuple[str, str, list[str]]] = {
    "a key": ("API_KEY", A, [A]),
    "a key by its looks": ("SETTING", A + B, [A + B]),
    "no key by its looks: short": ("SETTING", A, []),
    "a hash": ("COMMIT", "9fceb02d0ae598e95dc970b74767f19372d61af8", []),
    "a hash that is called a secret": (
        "SECRET",
        "9fceb02d0ae598e95dc970b74767f193",
        ["9fceb02d0ae598e95dc970b74767f193"],
    ),
    "a UUID": ("INSTANCE", "3f2c8a91-77d0-4b1e-9c56-0de1a2b3c4d5", []),
    "a common word": ("DB_PASSWORD", "postgres", []),
    "a word and numbers": ("DB_PASSWORD", "admin123456", []),
    "letters for letters": ("DB_PASSWORD", "p@ssw0rd", []),
    "a place": ("DB_PASSWORD", "localhost", []),
    "an environment": ("SESSION_SECRET", "development", []),
    "a placeholder": ("API_KEY", "your-api-key-here", []),
    "numbers": ("PASSWORD", "1234567890123", []),
    "short": ("PASSWORD", "aB3$xY7", []),
    "a path": ("TOKEN", "/home/user/.config/token", []),
    "a person's password": ("PASSWORD", "hunter22!", ["hunter22!"]),
    "common words": ("PASSPHRASE", "correct-horse-battery-staple", []),
    "a line of code": ("V25_SECRET", "from typing import Any", []),
    "an option": ("API_SECRET", "eslint-disable-next-line", []),
    "an address": ("API_TOKEN_HOST", "https://api.example.com/v1/some/long/path", []),
    "an address with a password": ("DATABASE_URL", f"postgres://u:{A}@db:5432/x", [A]),
    "an address with a common password": ("DATABASE_URL", "postgres://postgres:postgres@db/x", []),
    "escapes in an address": ("URL", "redis://:tR7k%2FQp09v@db", ["tR7k%2FQp09v", "tR7k/Qp09v"]),
    "a slash in a password": ("URL", "redis://u:tR7k/Qp09vLx@db", ["tR7k/Qp09vLx"]),
    "a header": ("AUTH_TOKEN", f"Bearer {A}", [A]),
    "user and password": ("BASIC_AUTH", base64.b64encode(f"me:{A}".encode()).decode(), ["...", A]),
    "a limit": ("MAX_TOKENS", A, []),
    "a name": ("CONTAINER_NAME", A + B, []),
    "published": ("NEXT_PUBLIC_API_KEY", A, []),
}


@pytest.mark.parametrize(("name", "value", "expected"), CHOSEN.values(), ids=CHOSEN)
def test_which_values_count(name: str, value: str, expected: list[str]) -> None:
    assert list(secrets_in(name, value)) == [value if text == "..." else text for text in expected]


def test_a_private_key_in_a_variable() -> None:
    lines = ["b3BlbnNzaC1rZXktdjEA", A + B]
    text = "-----BEGIN PRIVATE" + " KEY-----\\n" + "\\n".join(lines) + "\\n-----END PRIVATE" + " KEY-----"
    assert list(secrets_in("SIGNING", text)) == [A + B]


@given(st.text(max_size=200), st.text(max_size=40))
def test_every_chosen_value_is_rare(value: str, name: str) -> None:
    for text in secrets_in(name, value, certain=True):
        assert is_rare(text, named=True) or is_rare(text, named=False)


ORDINARY = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/home/u/.local/share/fnm/node-versions/v22.3.0/bin",
    "PWD": "/home/u/src/q7Wn2kZp40aVdLm8tR7k",
    "LS_COLORS": "rs=0:di=01;34:ln=01;36:mh=00:pi=40;33:so=01;35:do=01;35:bd=40;33;01",
    "LANG": "en_US.UTF-8",
    "EDITOR": "code --wait --reuse-window",
    "TERM_SESSION_ID": "w0t0p0:5B8C3F0E-7D52-4C1B-9E0A-2A6C4C7F2D11",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus,guid=2f1e8a7b6c5d4e3f2a1b0c9d8e7f6a5b",
    "SSH_AUTH_SOCK": "/tmp/ssh-XXXXq7Wn2kZp/agent.4711",
    "GIT_AUTHOR_NAME": "Ada Lovelace",
    "GIT_AUTHOR_EMAIL": "ada.lovelace+git@example.org",
    "GITHUB_SHA": "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "GITHUB_RUN_ID": "9876543210123",
    "GITHUB_WORKSPACE": "/home/runner/work/lockgate/lockgate",
    "GITHUB_ENV": "/home/runner/work/_temp/_runner_file_commands/set_env_3f2c8a91-77d0-4b1e-9c56-0de1a2b3c4d5",
    "CI_COMMIT_BRANCH": "feature/PROJ-1234-rework-the-parser",
    "GPG_KEY": "A035C8C19219BA821ECEA86B64E628F8D684696D",
    "PYTHON_SHA256": "3126f59592c9b0d798584755f2bf7b081fa1ca35ce7a6fea980108d752a05bb1",
    "NIX_PATH": "nixpkgs=/nix/store/8rxs2vq5pnm7x3zdpbk1y0qj6zy2kiwf-source",
    "JAVA_TOOL_OPTIONS": "-XX:+UseG1GC -Xmx2g -Dfile.encoding=UTF-8",
    "NODE_OPTIONS": "--max-old-space-size=8192",
    "MAVEN_OPTS": "-Xmx1024m",
    "PS1": "\\[\\e]0;\\u@\\h: \\w\\a\\]${debian_chroot:+($debian_chroot)}",
    "TOKENIZERS_PARALLELISM": "false",
    "COMPOSE_PROJECT_NAME": "shop-backend-development",
    "DATABASE_URL": "postgres://postgres:postgres@localhost:5432/development",
    "NEXT_PUBLIC_API_KEY": "AIzaSy" + "D4kP0xQm7VtZb1RwLh9sUeYc3GnJfTo2a",
}


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_environment_holds_nothing(tmp_path: Path, name: str) -> None:
    where, file = place(tmp_path, ".env")
    file.write_text(f"{name}='{ORDINARY[name]}'\n")
    assert values(where._replace(environ=ORDINARY)) == {}


# ---------------------------------------------------------------- finding the files


def test_where_it_looks(tmp_path: Path) -> None:
    where, file = place(tmp_path, ".env")
    root = file.parent
    wanted = [".env", ".env.local", ".envrc", "services/api/.env", "a/b/c/.env.production"]
    others = [
        ".env.example",
        ".env.sample",
        ".env.template",
        "env",
        ".environment",
        "node_modules/x/.env",
        "a/b/c/d/.env",
    ]
    for number, name in enumerate((*wanted, *others)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"KEY_SECRET={A}{number:02}\n")
    assert set(values(where)) == {f"{name}: KEY_SECRET" for name in wanted}


def test_a_value_is_kept_once_with_all_its_places(tmp_path: Path) -> None:
    where, file = place(tmp_path, ".env")
    file.write_text(f"A_SECRET={A}\nB_SECRET={A}\n")
    assert values(where._replace(environ={"C_SECRET": A, "D_SECRET": B})) == {
        ".env: A_SECRET; .env: B_SECRET; environment: C_SECRET": A,
        "environment: D_SECRET": B,
    }


def test_public_keys_are_not_secret(tmp_path: Path) -> None:
    where, file = place(tmp_path, "~/.ssh/id_local")
    head, end = "-----BEGIN OPENSSH PRIVATE" + " KEY-----", "-----END OPENSSH PRIVATE" + " KEY-----"
    file.write_text(f"{head}\nAAAA\nBBBB\n{A}1\n{B}2\n{end}\n")
    file.with_name("id_local.pub").write_text(f"ssh-ed25519 AAAA{A}1AAAA me\n")
    assert values(where) == {"~/.ssh/id_local: line 4": B + "2"}


@pytest.mark.parametrize("what", ["folder", "unreadable", "huge", "binary", "link to nowhere"])
def test_what_cannot_be_read_holds_nothing(tmp_path: Path, what: str) -> None:
    where, file = place(tmp_path, ".env")
    if what == "folder":
        file.mkdir()
    elif what == "link to nowhere":
        file.symlink_to(tmp_path / "nowhere")
    else:
        file.write_bytes({"huge": b"A_SECRET=" + b"x" * 2_000_000, "binary": bytes(range(256)) * 9}.get(what, b""))
        file.chmod(0 if what == "unreadable" else 0o600)
    assert values(where) == {}


def test_text_that_is_no_unicode(tmp_path: Path) -> None:
    where, file = place(tmp_path, "~/.codex/auth.json")
    file.write_text('{"refresh_token": "\\ud800' + A + '", "access_token": "' + B + '"}')
    Path(where.workspace, ".env").write_bytes(b"A_SECRET=ab\xff\xfe\xfd\nB_SECRET=" + A.encode() + b"\xff\n")
    found = gather(where, sources(where, []))
    assert [named.value for named in found] == [B.encode(), A.encode() + b"\xff"]


def test_no_workspace(tmp_path: Path) -> None:
    assert values(SearchScope(str(tmp_path), "", {})) == {}
