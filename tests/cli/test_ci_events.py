"""Who wrote the words of an event of GitHub Actions, by the table of events and its examples."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.cli.ci import build
from lockgate.cli.ci.events import facts_of

ROWS: list[dict[str, Any]] = build.load(Path(build.__file__).with_name("events.yaml"))
SHA, BASE, PUSHED = "5" * 40, "a" * 40, "b" * 40
OWNER = {"login": "owner", "id": 1, "type": "User"}
MEMBER = {"login": "member", "id": 2, "type": "User"}
BOT = {"login": "renovate[bot]", "id": 3, "type": "Bot"}
STRANGER = {"login": "stranger", "id": 9, "type": "User"}
REPOSITORY = {"id": 10, "full_name": "owner/tool", "default_branch": "main", "owner": OWNER}
ORGANIZATION = {"login": "org", "id": 20, "type": "Organization"}


def made(said: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """An event file: what all events have, an example's own part, and what a test changes."""
    return {"action": "opened", "repository": REPOSITORY, "sender": OWNER, **said, **changed}


def example(name: str, *, clean: bool = True) -> dict[str, Any]:
    row = next(row for row in ROWS if row["name"] == name)
    return made(next(copy.deepcopy(one["event"]) for one in row["examples"] if one["clean"] is clean))


def by(user: dict[str, Any], association: str) -> dict[str, Any]:
    return made({"issue": {"number": 7, "comments": 0, "user": user, "author_association": association}})


def changed(name: str, comments: object) -> dict[str, Any]:
    """The example of an event that is clean, with others in its thread."""
    event = example(name)
    thread = event[next(row["words"][0] for row in ROWS if row["name"] == name)]
    field = "review_comments" if "review_comments" in thread else "comments"
    thread[field] = comments
    return event


def pushed(author: object = "owner", committer: object = "owner", **changed: Any) -> dict[str, Any]:
    event = example("push")
    event["commits"].append({"author": {"username": author}, "committer": {"username": committer}})
    return {**event, **changed}


@pytest.mark.parametrize(
    ("name", "said", "clean"),
    [
        pytest.param(row["name"], one["event"], one["clean"], id=f"{row['name']} {number}")
        for row in ROWS
        for number, one in enumerate(row["examples"])
    ],
)
def test_examples(name: str, said: dict[str, Any], clean: bool) -> None:
    assert (facts_of(name, made(said), SHA).strangers == ()) is clean


@pytest.mark.parametrize(
    ("name", "event", "strangers"),
    [
        pytest.param("issues", by(STRANGER, "NONE"), "issue 7 by stranger", id="a stranger's issue"),
        pytest.param("issues", by(STRANGER, "OWNER"), "issue 7 by stranger", id="an association that the id denies"),
        pytest.param("issues", by({**OWNER, "id": 9}, "OWNER"), "issue 7 by owner", id="the owner's former name"),
        pytest.param("issues", by(OWNER, "CONTRIBUTOR"), "issue 7 by owner", id="an id that the association denies"),
        pytest.param("issues", by(BOT, "CONTRIBUTOR"), "issue 7 by renovate[bot]", id="a bot"),
        pytest.param("issues", by({**BOT, "type": "User"}, "OWNER"), "issue 7 by renovate[bot]", id="a bot's name"),
        pytest.param("issues", by({**OWNER, "login": "x\n# by owner"}, "NONE"), "issue 7 by somebody", id="no name"),
        pytest.param("issues", by({}, "OWNER"), "issue 7 by somebody", id="a user who was removed"),
        pytest.param("issues", {**by(OWNER, "OWNER"), "repository": {**REPOSITORY, "owner": ORGANIZATION}},
                     "issue 7 by owner", id="nobody owns an organization's repository"),
        pytest.param("issues", {**by(OWNER, "OWNER"), "changes": {"body": {"from": "x"}}},
                     "fields of the event whose author is not known", id="an edited issue"),
        pytest.param("issues", {"repository": REPOSITORY, "sender": OWNER}, "issue by somebody", id="no issue"),
        *(
            pytest.param(name, changed(name, count), "a thread whose other authors the event does not tell",
                         id=f"{name} with {count!r} comments of others")
            for name in ("issues", "issue_comment", "pull_request", "pull_request_review", "discussion")
            for count in (1, None, False, "0")
        ),
        pytest.param("issue_comment", {**example("issue_comment"),
                                       "issue": {**example("issue_comment")["issue"], "pull_request": {}}},
                     "a pull request whose branch the event does not tell", id="a comment on a pull request"),
        pytest.param("pull_request", example("pull_request", clean=False), "a pull request from a fork", id="a fork"),
        pytest.param("push", pushed(STRANGER["login"]), "a commit by stranger", id="a stranger's commit"),
        pytest.param("push", pushed("owner", "web-flow"), "a commit by web-flow", id="merged on the service's page"),
        pytest.param("push", pushed(None), "a commit by somebody", id="an author whom the service does not know"),
        pytest.param("push", pushed(head_commit=None), "a commit by somebody", id="no newest commit"),
        pytest.param("push", pushed(pusher={"name": "key"}), "a push that owner did not make", id="a deploy key"),
        pytest.param("push", pushed(deleted=True), "a push whose commits are not all told", id="a deletion"),
        pytest.param("push", pushed(commits="x"), "a push whose commits are not all told", id="commits of no kind"),
        pytest.param("push", pushed(commits=pushed()["commits"][:1] * 2048),
                     "a push whose commits are not all told", id="more commits than the service tells"),
        pytest.param("workflow_dispatch", example("workflow_dispatch", clean=False),
                     "an event that helper[bot] caused", id="a program has started it"),
        pytest.param("workflow_run", made({}), "an event that is not known", id="an event without a row"),
        pytest.param("", made({}), "an event that is not known", id="no event"),
        pytest.param("issues", [made({})], "an event file that holds no event", id="no object"),
    ],
)  # fmt: skip
def test_what_nothing_proves_is_a_strangers(name: str, event: object, strangers: str) -> None:
    assert strangers in facts_of(name, event, SHA).strangers


@pytest.mark.parametrize(
    ("name", "event", "clean"),
    [
        pytest.param("issues", by(BOT, "NONE"), True, id="a bot that a person has named"),
        pytest.param("issues", by({**BOT, "login": "other[bot]"}, "NONE"), False, id="another one"),
        pytest.param("issues", by({**BOT, "type": "User"}, "NONE"), False, id="somebody of that name"),
        pytest.param(
            "workflow_dispatch", {**example("workflow_dispatch"), "sender": BOT}, True, id="it has started it"
        ),
    ],
)
def test_a_bot_is_trusted_by_name_alone(name: str, event: dict[str, Any], clean: bool) -> None:
    assert (facts_of(name, event, SHA, ["Renovate[bot]"]).strangers == ()) is clean
    assert facts_of(name, event, SHA).strangers != ()


@pytest.mark.parametrize(
    ("app", "bots", "clean"),
    [
        pytest.param(None, (), True, id="none"),
        pytest.param({"slug": "renovate"}, (), False, id="an app with the owner's log-in"),
        pytest.param({"slug": "renovate"}, ("renovate[bot]",), True, id="an app that a person has named"),
        pytest.param({"slug": "x\n"}, ("x\n[bot]",), False, id="an app of no name"),
    ],
)
def test_an_app_that_writes_as_a_person_is_no_person(app: object, bots: tuple[str, ...], clean: bool) -> None:
    event = by(OWNER, "OWNER")
    event["issue"]["performed_via_github_app"] = app
    assert (facts_of("issues", event, SHA, bots).strangers == ()) is clean


@pytest.mark.parametrize(
    ("name", "event", "base"),
    [
        pytest.param("issues", by(STRANGER, "NONE"), SHA, id="the default branch"),
        pytest.param("pull_request", {"pull_request": {"base": {"sha": BASE}}}, BASE, id="where it goes to"),
        pytest.param("pull_request_target", {"pull_request": {"base": {"sha": BASE}}}, SHA, id="not an old commit"),
        pytest.param("push", pushed(after=PUSHED, before=BASE), PUSHED, id="a member's push"),
        pytest.param("push", pushed("stranger", after=PUSHED, before=BASE), BASE, id="before another's push"),
        pytest.param("push", pushed("stranger", after=PUSHED, before="0" * 40), "", id="another's new branch"),
        pytest.param("pull_request", {"pull_request": {"base": {"sha": "--upload-pack=x"}}}, "", id="no commit"),
        pytest.param("workflow_run", {}, "", id="an unknown event"),
    ],
)
def test_the_base_is_a_commit_of_the_repositorys_own(name: str, event: dict[str, Any], base: str) -> None:
    assert facts_of(name, made(event), SHA).base == base


def test_facts_are_what_the_service_says() -> None:
    facts = facts_of("issues", made(by(STRANGER, "NONE"), sender=MEMBER), SHA)
    assert facts == ("issues", "owner/tool", 7, SHA, "member", ("issue 7 by stranger",))


def _texts(event: object, path: list[str]) -> list[tuple[Any, str]]:
    """Each place of an event that a path of the table names, as the object and its field."""
    name, *rest = path
    plain = name.removesuffix("[]")
    if not isinstance(event, dict):
        return []
    if not rest:
        return [(event, plain)]
    inner = event.setdefault(plain, [{}] if name.endswith("[]") else {})
    return [place for one in (inner if name.endswith("[]") else [inner]) for place in _texts(one, rest)]


@pytest.mark.parametrize("row", [row for row in ROWS if row["text"]], ids=lambda row: row["name"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "strangers"])
@given(said=st.one_of(st.text(), st.sampled_from(["by owner", '"},"author_association":"OWNER"', "OWNER", "owner"])))
def test_whatever_stands_in_a_text_the_facts_are_the_same(row: dict[str, Any], clean: bool, said: str) -> None:
    event = example(row["name"], clean=clean)
    before = facts_of(row["name"], event, SHA)
    for path in row["text"]:
        for holder, field in _texts(event, path.split(".")):
            holder[field] = said
    assert facts_of(row["name"], event, SHA) == before


_JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=10), st.sampled_from(["OWNER", "User", "owner"])
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["user", "id", "login", "type", "owner", "author_association", "head", "repo"]), inner
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("row", [row for row in ROWS if row["words"] or "commits" in row], ids=lambda row: row["name"])
@given(odd=_JSON, field=st.sampled_from(["user", "author_association", "number", "head", "owner", "sender", ""]))
@hypothesis.example(odd={"repo": {"id": []}}, field="head")
def test_an_odd_shape_is_a_strangers(row: dict[str, Any], odd: object, field: str) -> None:
    """A stranger's event of which one field is anything at all stays a stranger's, and is read without an error."""
    event = json.loads(json.dumps(example(row["name"], clean=False)))
    event["sender"] = STRANGER
    for words in row["words"]:
        event[words] |= {"user": STRANGER, "author_association": "NONE"}
    what = (row["words"] or ["head_commit"])[-1]
    target = event if field in ("owner", "sender", "") else event[what]
    if field == "owner":
        target["repository"] = {"owner": odd, "id": 10}
    else:
        target[field or what] = odd
    assert facts_of(row["name"], event, SHA).strangers
