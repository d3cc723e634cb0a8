"""What manifests and lock files name, and which forms are not taken for known."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.containment.registry_proxy import lock_files
from lockgate.containment.registry_proxy.commands import Install, find_wanted, install_of
from lockgate.containment.registry_proxy.indexes import NPMJS, PYPI
from lockgate.containment.registry_proxy.lock_files import UncoveredError
from lockgate.containment.registry_proxy.wanted import Wanted

ONE, TWO = "1" * 64, "2" * 64
FILE = "https://files.pythonhosted.org/packages/aa/idna-3.10-py3-none-any.whl"
TARBALL = "https://registry.npmjs.org/is-odd/-/is-odd-3.0.1.tgz"
PROJECT = '[project]\nname = "shop"\nversion = "1"\ndependencies = ["Flask_Login>=1", "idna; python_version<\'4\'"]\n'
BUILT = '[build-system]\nrequires = ["hatchling"]\n'
OPTIONAL = '[project.optional-dependencies]\ntest = ["pytest"]\nall = ["shop[test]", "rich"]\n'
UV_LOCK = f"""
version = 1
[[package]]
name = "idna"
version = "3.10"
source = {{ registry = "https://pypi.org/simple" }}
wheels = [{{ url = "{FILE}", hash = "sha256:{ONE}" }}]
[[package]]
name = "shop"
source = {{ editable = "." }}
"""


def reading(files: Mapping[str, str]) -> Callable[[str], bytes | None]:
    return lambda path: files[path].encode() if path in files else None


def locked(**packages: object) -> str:
    return json.dumps({"lockfileVersion": 3, "packages": {"": {"name": "web"}, **packages}})


def odd(**more: object) -> str:
    return locked(**{"node_modules/is-odd": {"version": "3.0.1", "resolved": TARBALL, **more}})


def names(*found: str) -> dict[str, frozenset[str]]:
    return dict.fromkeys(found, frozenset())


COVERED: dict[str, tuple[str, dict[str, str], Wanted]] = {
    "requirements": ("pip install -r r.txt", {"r.txt": "idna==3.10\n# no\n\nZope.Interface  # why\n"},
                     Wanted(names("idna", "zope-interface"))),
    "hashes": ("pip install --require-hashes -r r.txt",
               {"r.txt": f"idna==3.10 \\\n  --hash=sha256:{ONE} \\\n  --hash=sha256:{TWO}\n"},
               Wanted({"idna": frozenset((ONE, TWO))})),
    "nested": ("pip install -r a/r.txt", {"a/r.txt": "-r ../b.txt\n-c c.txt\n", "b.txt": "six", "a/c.txt": "idna<4"},
               Wanted(names("six", "idna"))),
    "written together": ("pip install -rr.txt", {"r.txt": "six"}, Wanted(names("six"))),
    "a project": ("pip install .", {"pyproject.toml": PROJECT + BUILT},
                  Wanted(names("flask-login", "idna", "hatchling", "editables"))),
    "a project that does not say what builds it": ("pip install -q .", {"pyproject.toml": PROJECT},
                                                   Wanted(names("flask-login", "idna", "setuptools", "wheel"))),
    "extras": ("python3 -m pip install -e .[all]", {"pyproject.toml": PROJECT + OPTIONAL + BUILT},
               Wanted(names("flask-login", "idna", "hatchling", "editables", "pytest", "rich"))),
    "nothing is needed": ("pip install --no-deps --no-build-isolation -e .", {}, Wanted()),
    "only what builds": ("pip install --no-deps .", {"pyproject.toml": PROJECT + BUILT},
                         Wanted(names("hatchling", "editables"))),
    "uv pip": ("uv pip install -r r.txt", {"r.txt": "six"}, Wanted(names("six"))),
    "uv sync": ("uv sync --frozen --extra test", {"pyproject.toml": PROJECT + BUILT, "uv.lock": UV_LOCK},
                Wanted({"idna": frozenset((ONE,)), **names("hatchling", "editables")}, files=frozenset((FILE,)))),
    "npm ci": ("npm ci --no-audit", {"package.json": "{}", "package-lock.json": odd()},
               Wanted({}, frozenset(("is-odd",)), frozenset((TARBALL,)))),
    "npm install": ("npm i --omit dev", {"package.json": "{}", "package-lock.json": odd()},
                    Wanted({}, frozenset(("is-odd",)), frozenset((TARBALL,)))),
    "an alias": ("npm ci", {"package.json": "{}", "package-lock.json": odd(name="@scope/odd")},
                 Wanted({}, frozenset(("@scope/odd",)), frozenset((TARBALL,)))),
    "a lock file without addresses": ("npm ci", {"package.json": "{}", "package-lock.json": odd(resolved=None)},
                                      Wanted({}, frozenset(("is-odd",)))),
    "a shrinkwrap goes first": ("npm ci", {"package.json": "{}", "npm-shrinkwrap.json": odd(),
                                           "package-lock.json": "x"},
                                Wanted({}, frozenset(("is-odd",)), frozenset((TARBALL,)))),
    "a workspace": ("npm ci", {"package.json": "{}", "a/package.json": "{}", "package-lock.json": locked(
        a={"version": "1.0.0"}, **{"node_modules/a": {"resolved": "a", "link": True}})}, Wanted()),
    "a query of npm": ("npm view is-odd@latest version", {"package.json": "{}", "package-lock.json": odd()},
                       Wanted(packages=frozenset(("is-odd",)))),
    "a query of npm for what a manifest names": ("npm info @s/a --json", {"package.json":
        '{"devDependencies": {"@s/a": "^1", "b": "2"}}'}, Wanted(packages=frozenset(("@s/a",)))),
    "what is outdated": ("npm outdated is-odd", {"package.json": "{}", "package-lock.json": odd()},
                         Wanted(packages=frozenset(("is-odd",)))),
    "a query of pip": ("pip index versions Idna", {"uv.lock": UV_LOCK, "pyproject.toml": PROJECT + BUILT},
                       Wanted({"idna": frozenset((ONE,))})),
    "a query of pip for what a list names": ("python3 -m pip index versions six", {"requirements.txt": "six\nidna"},
                                             Wanted(names("six"))),
    "a query of pip for what a project names": ("pip index versions flask-login", {"pyproject.toml": PROJECT + BUILT},
                                                Wanted(names("flask-login"))),
}  # fmt: skip


@pytest.mark.parametrize("name", COVERED)
def test_what_an_install_may_ask_for(name: str) -> None:
    text, files, wanted = COVERED[name]
    install = install_of(text.split())
    assert install is not None
    assert find_wanted(install, "", reading(files), (PYPI, NPMJS)) == wanted


UNCOVERED: dict[str, tuple[str, dict[str, str]]] = {
    "a new dependency": ("pip install requests", {}),
    "a new dependency beside known ones": ("pip install -r r.txt requests", {"r.txt": "six"}),
    "a new dependency of npm": ("npm install left-pad", {"package.json": "{}", "package-lock.json": odd()}),
    "another index": ("pip install -r r.txt --index-url https://e.example/", {"r.txt": "six"}),
    "another index, short": ("pip install -i https://e.example/ -r r.txt", {"r.txt": "six"}),
    "another index in the file": ("pip install -r r.txt", {"r.txt": "--index-url https://e.example/\nsix"}),
    "more files in the file": ("pip install -r r.txt", {"r.txt": "--find-links https://e.example/\nsix"}),
    "an address": ("pip install -r r.txt", {"r.txt": "six @ https://e.example/six.whl"}),
    "an address by itself": ("pip install -r r.txt", {"r.txt": "https://e.example/six.whl"}),
    "a repository": ("pip install -r r.txt", {"r.txt": "git+https://e.example/six"}),
    "a file that is not committed": ("pip install -r r.txt", {}),
    "a file outside": ("pip install -r ../r.txt", {"../r.txt": "six"}),
    "a file outside, nested": ("pip install -r r.txt", {"r.txt": "-r ../s.txt", "../s.txt": "six"}),
    "a circle": ("pip install -r r.txt", {"r.txt": "-r r.txt"}),
    "a target elsewhere": ("pip install --target /x -r r.txt", {"r.txt": "six"}),
    "nothing": ("pip install", {}),
    "constraints alone": ("pip install -c r.txt", {"r.txt": "six"}),
    "dependencies that running it tells": ("pip install .", {"pyproject.toml":
                                           '[project]\nname = "shop"\ndynamic = ["dependencies"]\n'}),
    "no table of the project": ("pip install .", {"pyproject.toml": BUILT}),
    "a builder from an address": ("pip install .", {"pyproject.toml":
                                  PROJECT + '[build-system]\nrequires = ["x @ https://e.example/x"]'}),
    "broken TOML": ("pip install .", {"pyproject.toml": "[project"}),
    "uv, another index": ("uv sync", {"pyproject.toml": PROJECT, "uv.lock": UV_LOCK.replace("pypi.org", "e.example")}),
    "uv, no hash": ("uv sync", {"pyproject.toml": PROJECT, "uv.lock": UV_LOCK.replace("sha256:1", "md5:1")}),
    "uv, a query": ("uv sync", {"pyproject.toml": PROJECT, "uv.lock": UV_LOCK.replace(".whl", ".whl?secret")}),
    "uv, no TLS": ("uv sync", {"pyproject.toml": PROJECT, "uv.lock": UV_LOCK.replace("https://files", "http://files")}),
    "uv, an upgrade": ("uv sync --upgrade", {"pyproject.toml": PROJECT, "uv.lock": UV_LOCK}),
    "uv, another interpreter": ("uv sync --python 3.14", {"pyproject.toml": PROJECT, "uv.lock": UV_LOCK}),
    "uv without a lock file": ("uv sync", {"pyproject.toml": PROJECT}),
    "npm, no lock file": ("npm ci", {"package.json": "{}"}),
    "npm, version 1": ("npm ci", {"package.json": "{}", "package-lock.json": '{"lockfileVersion": 1}'}),
    "npm, a version to come": ("npm ci", {"package.json": "{}", "package-lock.json":
                               '{"lockfileVersion": 4, "packages": {}}'}),
    "npm, another registry": ("npm ci", {"package.json": "{}", "package-lock.json":
                              odd(resolved="https://e.example/is-odd/-/is-odd-3.0.1.tgz")}),
    "npm, a name that begins alike": ("npm ci", {"package.json": "{}", "package-lock.json":
                                      odd(resolved="https://registry.npmjs.org.e.example/is-odd.tgz")}),
    "npm, a repository": ("npm ci", {"package.json": "{}", "package-lock.json": odd(resolved="git+ssh://e.example/x")}),
    "npm, a query": ("npm ci", {"package.json": "{}", "package-lock.json": odd(resolved=f"{TARBALL}?secret")}),
    "npm, upwards": ("npm ci", {"package.json": "{}", "package-lock.json":
                     odd(resolved="https://registry.npmjs.org/../x")}),
    "npm, a name that is none": ("npm ci", {"package.json": "{}", "package-lock.json": odd(name="a/../b")}),
    "npm, a workspace outside": ("npm ci", {"package.json": "{}", "package-lock.json": locked(**{"../a": {}})}),
    "npm, a workspace that is not committed": ("npm ci", {"package.json": "{}", "package-lock.json":
                                               locked(a={"version": "1.0.0"})}),
    "npm, another registry by option": ("npm ci --registry=https://e.example", {"package.json": "{}",
                                        "package-lock.json": odd()}),
    "a query of npm for a new name": ("npm view left-pad", {"package.json": "{}", "package-lock.json": odd()}),
    "a query of npm for one that begins alike": ("npm view is-odd-secret", {"package.json": "{}",
                                                 "package-lock.json": odd()}),
    "a query of npm in another registry": ("npm view is-odd --registry=https://e.example/", {"package.json": "{}",
                                           "package-lock.json": odd()}),
    "a query of npm for nothing": ("npm view", {"package.json": '{"name": "web"}', "package-lock.json": odd()}),
    "a query of npm for an address": ("npm view https://e.example/x", {"package.json": "{}",
                                      "package-lock.json": odd()}),
    "a query of npm for what is no package of the registry": ("npm view a", {"package.json":
        '{"dependencies": {"a": "git+ssh://e.example/a"}}'}),
    "a query of npm for a name that is none": ("npm view a/../b", {"package.json":
        '{"dependencies": {"a/../b": "1"}}'}),
    "what is outdated, without a lock file": ("npm outdated", {"package.json": '{"dependencies": {"a": "1"}}'}),
    "what is outdated everywhere": ("npm outdated -g", {"package.json": "{}", "package-lock.json": odd()}),
    "a query of pip for a new name": ("pip index versions requests", {"requirements.txt": "six"}),
    "a query of pip for a version": ("pip index versions six==secret", {"requirements.txt": "six"}),
    "a query of pip for two": ("pip index versions six secret", {"requirements.txt": "six"}),
    "a query of pip in another index": ("pip index versions six -i https://e.example/", {"requirements.txt": "six"}),
    "a query of pip for what another place has": ("pip index versions six", {"requirements.txt":
                                                  "six @ https://e.example/six.whl"}),
    "a query of pip without a list": ("pip index versions six", {}),
    "npm, everywhere": ("npm install -g", {"package.json": "{}", "package-lock.json": odd()}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCOVERED)
def test_what_is_asked_about(name: str) -> None:
    text, files = UNCOVERED[name]
    install = install_of(text.split())
    assert install is not None
    with pytest.raises(UncoveredError):
        find_wanted(install, "", reading(files), (PYPI, NPMJS))


@pytest.mark.parametrize("text", ["pip list", "npm test", "uv run x", "uv lock", "pipx install x", "npm audit", "git"])
def test_other_commands_are_no_installs(text: str) -> None:
    assert install_of(text.split()) is None


def test_a_folder_below_the_root() -> None:
    files = {"web/package.json": "{}", "web/package-lock.json": odd()}
    found = find_wanted(Install("npm", "npm", ()), "web", reading(files), (PYPI, NPMJS))
    assert found.packages == frozenset(("is-odd",))


def test_what_is_wanted_is_read_back() -> None:
    wanted = Wanted({"idna": frozenset((ONE,)), "six": frozenset()}, frozenset(("a",)), frozenset((FILE,)))
    assert Wanted.from_json(wanted.to_json()) == wanted


@pytest.mark.parametrize(("one", "other", "both"), [
    (frozenset((ONE,)), frozenset((TWO,)), frozenset((ONE, TWO))),
    (frozenset((ONE,)), frozenset[str](), frozenset[str]()),
    (frozenset[str](), frozenset((ONE,)), frozenset[str]()),
])  # fmt: skip
def test_a_project_that_is_open_once_is_open(one: frozenset[str], other: frozenset[str], both: frozenset[str]) -> None:
    assert Wanted({"idna": one}).joined(Wanted({"idna": other})).projects == {"idna": both}


PIECES = st.sampled_from(
    ["idna", "==3.10", "-r ", "a.txt", "\n", "\\\n", "--hash=sha256:", ONE, "@", "https://e.example/x", "[", "]", "=",
     '"', "{", "}", "[project]\n", "dependencies", "packages", "node_modules/x", ":", ",", "resolved", TARBALL,
     "lockfileVersion", "3", "#", ";", " ", "\0", "é", "../"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=24).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing else is raised, and every name that comes out is one that an address can hold."""
    files = dict.fromkeys(("a.txt", "pyproject.toml", "uv.lock", "package.json", "package-lock.json"), text)
    for command in ("pip install -r a.txt", "pip install .", "uv sync", "npm ci"):
        install = install_of(command.split())
        assert install is not None
        try:
            found = find_wanted(install, "", reading(files), (PYPI, NPMJS))
        except UncoveredError:
            continue
        assert all(name.replace("-", "").isalnum() for name in found.projects)
        assert all(file.startswith("https://") for file in found.files)


def test_lock_files_are_read_from_their_folder() -> None:
    assert lock_files.extras_of(".[a,b]") == (".", ["a", "b"])
    assert lock_files.extras_of(".[a") is None
