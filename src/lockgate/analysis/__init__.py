"""A tool call in, its effects out: pure functions with no clock, file, socket or environment."""

from __future__ import annotations

from lockgate.core.model import Analysis, Effect, EffectKind, Label, ToolCall
from lockgate.resources.host_view import HostView

__all__ = [
    "analyse",
    "looking",
    "mcp",
    "mcp_servers",
    "prompts",
    "tools",
]

_SHELL = "Bash"


def analyse(call: ToolCall, around: HostView) -> Analysis:
    """What a call can do.

    Never raises: where the analysis itself fails, the call is taken to run anything and to bring in anything (rule
    ``analysis:error``).
    """
    try:
        return _analyse(call, around)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a fault of ours must not open the gate
        because = f"the analysis failed ({type(error).__name__}), so nobody knows what this call does"
        return Analysis(
            (
                Effect(EffectKind.EXECUTE, call.tool, "analysis:error", because),
                Effect(EffectKind.INGEST, call.tool, "analysis:error", because, gives=Label.UNTRUSTED),
            ),
        )


def _analyse(call: ToolCall, around: HostView) -> Analysis:
    command = call.tool_input.get("command")
    if call.tool == _SHELL and isinstance(command, str):
        # By its whole name: docs/architecture.md, "The hot path".
        import lockgate.shell.analyse as analyse

        return analyse.analyse_shell(command, call.cwd, around)
    import lockgate.analysis.tools as tools

    return tools.analyse_tool(call, around)
