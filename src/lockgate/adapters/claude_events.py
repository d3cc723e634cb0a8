"""The events of Claude Code's hooks, by the client's names."""

from __future__ import annotations

EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionDenied",
    "PostToolBatch",
    "Stop",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "SubagentStop",
    "ConfigChange",
    "InstructionsLoaded",
)
"""The events that the gate is registered for."""

IGNORED = frozenset(
    {
        "CwdChanged",
        "DirectoryAdded",
        "Elicitation",
        "ElicitationResult",
        "FileChanged",
        "MessageDisplay",
        "Notification",
        "PermissionRequest",
        "PostCompact",
        "PostModelSwitch",
        "PreCompact",
        "PreModelSwitch",
        "Setup",
        "StopFailure",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "UserPromptExpansion",
        "WorktreeCreate",
        "WorktreeRemove",
    },
)
"""Events that exist and need nothing from the gate."""
