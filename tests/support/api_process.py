"""What `lockgate dashboard` runs, without a terminal around it. Argument: the settings as JSON.

Each line on standard input makes another link, as Enter does in a terminal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from lockgate.cli.dashboard import tools
from lockgate.cli.serve import log_to_stderr
from lockgate.dashboard.serving import Dashboard, Settings
from lockgate.folders import folders
from lockgate.store.opening import open_store


def main() -> None:
    where = folders()
    open_store(where.state).close()
    log_to_stderr(False, "lockgate.dashboard")
    logging.captureWarnings(True)
    sys.stdin.isatty = lambda: True  # type: ignore[method-assign]
    settings = Settings(**json.loads(sys.argv[1]))
    asyncio.run(Dashboard(where, settings, tools(), lambda line: print(line, flush=True)).run())


main()
