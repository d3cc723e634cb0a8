"""The verbs of the tables that answer with a receipt."""

from __future__ import annotations

from lockgate.shell.knowledge.data import build


def receipt_verbs() -> list[tuple[str, str, tuple[str, ...]]]:
    """Each output of each verb of the tables, with the lines that say that it is none."""
    found = []

    def look(name: str, raw: dict[str, object]) -> None:
        said = raw.get("answers")
        if isinstance(said, dict):
            found.extend((name, output, tuple(said["fails"])) for output in said["outputs"])
        commands = raw.get("commands")
        for below, entry in commands.items() if isinstance(commands, dict) else ():
            look(f"{name} {below}", entry)

    for path in sorted(build.FOLDER.glob("*.yaml")):
        if path.stem != "tables":
            for name, raw in build.load(path)["programs"].items():
                look(name, raw)
    return found
