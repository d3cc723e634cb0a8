"""The audit in CEF and OCSF: what becomes of each field, and of text that means to break the format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.core.display_text import visible
from lockgate.gate.session.sessions import TRIAL
from lockgate.service.observability.siem.formats import cef, extension_value, header_value, ocsf
from lockgate.service.observability.siem.mapping import fields, find_value, read_mapping
from lockgate.store.chain_links import canonical
from lockgate.store.rows import AuditRow
from support.stress import examples

SCHEMA = yaml.safe_load((Path(__file__).parent / "ocsf_1_5_0.yaml").read_text())
EXAMPLES = read_mapping()["examples"]
_ABSENT = "-"


def row(body: object) -> AuditRow:
    text = body if isinstance(body, str) else canonical(body)  # type: ignore[arg-type]
    return AuditRow(7, 1_700_000_000.5, text, "0" * 64, "f" * 64)


def parsed_cef(line: str) -> dict[str, str]:
    """A reader of CEF: splits at pipes and keys that no backslash is before, then takes the backslashes away."""
    assert "\n" not in line
    assert "\r" not in line
    parts = re.split(r"(?<!\\)((?:\\\\)*)\|", line, maxsplit=7)
    # Backslashes before a pipe that are escaped themselves belong to the part before it.
    values = [parts[index] + (parts[index + 1] if index + 1 < len(parts) else "") for index in range(0, len(parts), 2)]
    version, *header, extension = values
    assert version == "CEF:0"
    names = ("vendor", "product", "version", "signature", "name", "severity")
    found = dict(zip(names, (re.sub(r"\\([\\|])", r"\1", each) for each in header), strict=True))
    for name, value in re.findall(r"(?:^| )([A-Za-z0-9]+)=((?:\\.|[^\\=])*)(?= [A-Za-z0-9]+=|$)", extension):
        assert name not in found
        found[name] = re.sub(r"\\(.)", lambda match: {"n": "\n", "r": "\r"}.get(match[1], match[1]), value)
    return found


def at(event: Any, path: str) -> Any:
    for step in path.split("."):
        event = event.get(step) if isinstance(event, dict) else None
    return event


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: "-".join(map(str, list(each["body"].values())[:2])))
def test_the_examples_of_the_mapping(example: dict[str, Any]) -> None:
    fields = parsed_cef(cef(row(example["body"])))
    event = json.loads(ocsf(row(example["body"])))
    assert {name: fields.get(name, _ABSENT) for name in example["cef"]} == example["cef"]
    assert {path: _ABSENT if at(event, path) is None else at(event, path) for path in example["ocsf"]} == example[
        "ocsf"
    ]
    assert (fields["rt"], fields["externalId"], fields["flexString2"]) == ("1700000000500", "7", "f" * 64)
    assert (event["time"], event["metadata"]["sequence"]) == (1_700_000_000_500, 7)


def required(event: dict[str, Any]) -> list[str]:
    """What OCSF requires and the event has not."""
    kind = SCHEMA["classes"][event["class_uid"]]
    missing = [name for name in kind["required"] if name not in event]
    for path, said in SCHEMA["objects"].items():
        found = at(event, path)
        if found is not None:
            missing += [f"{path}.{name}" for name in said.get("required", ()) if name not in found]
            if "at_least_one" in said and not found.keys() & set(said["at_least_one"]):
                missing.append(f"{path}.*")
    missing += [name for name, known in SCHEMA["values"].items() if name in event and event[name] not in known]
    if event["category_uid"] != kind["category_uid"] or event["activity_id"] not in kind["activities"]:
        missing.append("category_uid")
    if event["type_uid"] != event["class_uid"] * 100 + event["activity_id"]:
        missing.append("type_uid")
    return missing


BODIES = st.fixed_dictionaries(
    {},
    optional={
        "event": st.sampled_from(["decision", "outcome", "asked", "pruned", "x"]) | st.text(max_size=20),
        "verdict": st.sampled_from(["allow", "contain", "ask", "deny"]) | st.text(max_size=5),
        "outcome": st.sampled_from(["finished", "failed", "refused"]) | st.none(),
        "tool": st.text(max_size=30),
        "session": st.text(max_size=30),
        "client": st.text(max_size=10),
        "cwd": st.text(max_size=30) | st.integers(),
        "input": st.dictionaries(st.text(max_size=8), st.text(max_size=30), max_size=3) | st.text(max_size=5),
        "reasons": st.lists(st.fixed_dictionaries({"because": st.text(max_size=20), "rule": st.text(max_size=8)})),
        "guardrail": st.fixed_dictionaries({"matches": st.lists(st.just({"rule": "r", "severity": "high"}))})
        | st.none(),
        "cascade": st.fixed_dictionaries({"ms": st.floats(0, 9), "tier": st.text(max_size=3)}) | st.text(max_size=3),
    },
)


@given(body=BODIES)
@settings(max_examples=examples(80), deadline=None)
def test_any_record_is_an_event_with_all_that_is_required(body: dict[str, Any]) -> None:
    line = ocsf(row(body))
    assert line.isascii()
    assert "\n" not in line
    assert required(json.loads(line)) == []
    fields = parsed_cef(cef(row(body)))
    assert int(fields["severity"]) in range(11)


HOSTILE = st.text(st.sampled_from("|=\\ \n\rab\x1b\u202e\x00nr'\"") | st.characters(codec="utf-8"), max_size=40)


@given(text=HOSTILE)
def test_text_comes_back_from_cef_as_it_was_and_breaks_out_of_nothing(text: str) -> None:
    line = cef(
        row({"event": "decision", "verdict": "deny", "tool": text, "client": text, "reasons": [{"because": text}]})
    )
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", line)
    fields = parsed_cef(line)
    shown = "".join(part if part in "\r\n" else visible(part) for part in re.split(r"([\r\n])", text))
    for name in ("sproc", "dproc", "reason"):
        assert fields.get(name, "") == shown
    assert fields["act"] == "deny"
    assert fields["msg"] == "An agent's call was denied"
    header = f"CEF:0|a|b|c|{header_value(text)}|{header_value(text)}|5|x={extension_value(text)}"
    assert parsed_cef(header)["name"] == visible(text)


@pytest.mark.parametrize("body", ["nonsense", "[]", "[" * 100_000, "7", '{"event":7}', '{"input":[1]}', "{}"])
def test_what_is_no_record_is_told_as_one_that_cannot_be_read(body: str) -> None:
    assert required(json.loads(ocsf(row(body)))) == []
    assert parsed_cef(cef(row(body)))["name"] == "Something happened in a session"


@pytest.mark.parametrize("session", ["lockgate-doctor", f"{TRIAL}0"])
def test_a_refusal_of_a_session_that_calls_itself_the_doctor_is_an_alert(session: str) -> None:
    assert json.loads(ocsf(row({"event": "decision", "verdict": "deny", "session": session})))["is_alert"]


def test_only_paths_that_a_record_can_have_are_in_the_mapping() -> None:
    """A path that leads nowhere in any example would be a field that is never written."""

    def paths(template: Any) -> set[str]:
        if isinstance(template, str):
            return {template} if template.startswith("$") else set()
        if isinstance(template, dict):
            return set().union(*map(paths, template.values()))
        return set()

    records = [fields(row(example["body"])) for example in EXAMPLES]
    for path in sorted(paths(read_mapping()["cef"]) | paths(read_mapping()["ocsf"])):
        for way in path[1:].split("|"):
            assert any(find_value(record, way) is not None for record in records), path
