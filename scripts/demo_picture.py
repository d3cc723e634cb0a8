"""Draw what `lockgate demo` prints, as the picture of the README: `make picture`.

The demo runs for real, in a temporary folder. Long explanations are left out; every line that is shown was printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "demo.svg"
TITLE = "lockgate demo"
WIDTH = 126
STYLES = {
    "reads": "cyan",
    "goes on": "green",
    "contained": "cyan",
    "blocked": "red",
    "asks": "yellow",
    "delegate": "green",
}
EXPLAINED = (
    "             | the only network:",
    "             | Why:",
    "             |   | In",
    "             Approve this brief?",
)
"""The lines below a call that are shown."""
THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [
        (72, 79, 88),
        (255, 123, 114),
        (63, 185, 80),
        (210, 153, 34),
        (88, 166, 255),
        (188, 140, 255),
        (57, 197, 207),
        (177, 186, 196),
    ],
)
# The form that rich writes loads a font from another host; this one needs nothing from anywhere.
FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="t">
<title id="t">A recorded run of `lockgate demo`</title>
<style>.{unique_id}-matrix{{font:{char_height}px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;\
font-variant-east-asian:full-width}}.{unique_id}-title{{font:bold 18px system-ui,sans-serif}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def recorded() -> str:
    """What the demo prints where the person says yes."""
    command = [sys.executable, "-m", "lockgate", "demo", "--yes"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"NO_COLOR": "1"},
        check=True,
    )
    return done.stdout


def shown(output: str) -> list[str]:
    """The lines of the demo that the picture has, without what differs from run to run."""
    story = output.partition("\nMeasured\n")[0].strip("\n").split("\n")
    kept = [line for line in story if not line.startswith(" " * 13) or line.startswith(EXPLAINED)]
    return [re.sub(r"\S*/lockgate-demo-\w+/shop", "~/shop", line).rstrip() for line in kept]


def painted(line: str) -> Text:
    """A line in the demo's colours."""
    if line[:1].isdigit():
        return Text(line, style="bold")
    text = Text(line)
    word = line[:11].strip()
    if word in STYLES:
        text.stylize(f"bold {STYLES[word]}", 0, 11)
    else:
        text.stylize("white", 0)
    return text


def drawn(lines: list[str]) -> str:
    """The picture of these lines."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(
            record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="standard", highlight=False
        )
        for line in lines:
            console.print(painted(line))
        return console.export_svg(title=TITLE, theme=THEME, code_format=FORMAT, unique_id="demo")


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(drawn(shown(recorded())), encoding="utf-8")
    print(f"{PICTURE.name}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
