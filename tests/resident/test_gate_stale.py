"""A gate whose code is being replaced fails in ways that no version does: then the hook decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.payloads import WHOLE
from hook.process import folders
from lockgate.clients.wire.resident import HookRequest
from lockgate.service.resident.decider import Decider, NotHere
from lockgate.system.folders import Folders


@pytest.mark.parametrize("stale", [False, True])
def test_what_fails_is_refused_or_left_to_the_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stale: bool
) -> None:
    words = folders(tmp_path)
    given = dict(zip(words[::2], words[1::2], strict=True))
    decider = Decider(Folders(given["--home"], given["--state"], given["--config"]))
    decider.is_stale = lambda: stale

    def fails(*_: object) -> None:
        raise AttributeError("no such name")

    monkeypatch.setattr(Decider, "_begin", fails)
    payload = json.dumps(WHOLE["PreToolUse"]).encode()
    try:
        work = decider.begin(HookRequest(1, ("claude-code", *words), {"HOME": str(tmp_path)}, payload), 1)
        if stale:
            with pytest.raises(NotHere):
                decider.step(work)
        else:
            stdout, _, code = decider.step(work)  # type: ignore[misc]
            assert code == 2
            assert "internal error" in stdout
    finally:
        decider.close()
