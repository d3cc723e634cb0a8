"""Runs detect-secrets over texts: ``{"text": ...}`` a line in, the names of what it found a line out.

Runs in a virtual environment of its own (``comparison.py`` makes it). Each text is a file, scanned with the default
plugins and filters, as ``detect-secrets scan`` does; with ``lines`` each of its lines is scanned as ``scan --string``
does.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from detect_secrets.core.scan import scan_file, scan_line
from detect_secrets.settings import default_settings


def main() -> None:
    """Answer line by line."""
    by_lines = "lines" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, default_settings():
        file = Path(folder, "text.txt")
        for line in sys.stdin:
            text = json.loads(line)["text"]
            if by_lines:
                found = [secret for each in text.splitlines() for secret in scan_line(each)]
            else:
                file.write_text(text, encoding="utf-8", newline="")
                found = list(scan_file(str(file)))
            print(json.dumps([secret.type for secret in found]))


if __name__ == "__main__":
    main()
