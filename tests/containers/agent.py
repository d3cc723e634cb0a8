"""An agent's client, run inside a container: asks the hook about each command and obeys the answer.

stdin: ``{"hook": [...], "session": "...", "calls": [{"id": "...", "command": "..."}]}``; ``{"result": true}`` in a call
also reports its result. stdout: one line of JSON for each call.
"""

import json
import os
import subprocess
import sys

given = json.load(sys.stdin)
os.chdir("/project")


def hook(event, **fields):
    body = {
        "session_id": given["session"],
        "transcript_path": "",
        "cwd": "/project",
        "hook_event_name": event,
        **fields,
    }
    done = subprocess.run(given["hook"], input=json.dumps(body), capture_output=True, text=True)
    answer = json.loads(done.stdout or "{}")
    return done, answer, answer.get("hookSpecificOutput", {})


def act(call):
    tool_input = {"command": call["command"]}
    about = {
        "tool_use_id": call["id"],
        "tool_name": call.get("tool", "Bash"),
        "tool_input": call.get("input", tool_input),
    }
    done, answer, specific = hook("PreToolUse", **about)
    said = {
        "id": call["id"],
        "code": done.returncode,
        "decision": specific.get("permissionDecision", "none"),
        "reason": specific.get("permissionDecisionReason", ""),
        "rewritten": specific.get("updatedInput", {}).get("command", ""),
        "ran": False,
    }
    if done.returncode != 0 or said["decision"] in ("deny", "ask") or answer.get("decision") == "block":
        return said
    command = specific.get("updatedInput", tool_input)["command"]
    ran = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True) if "tool" not in call else None
    said.update(ran=True, status=ran.returncode if ran else 0, stderr=ran.stderr if ran else "")
    if "output" in call or call.get("result"):
        record = {"stdout": call.get("output") or ran.stdout, "stderr": "", "interrupted": False, "isImage": False}
        about["tool_input"] = specific.get("updatedInput", about["tool_input"])
        response = call["output"] if "tool" in call else record
        done, answer, specific = hook("PostToolUse", **about, tool_response=response)
        said.update(post=answer, shown=specific.get("updatedToolOutput"))
    return said


for source in given.get("starts", ["startup"]):
    hook("SessionStart", source=source)
for call in given["calls"]:
    print(json.dumps(act(call)), flush=True)
