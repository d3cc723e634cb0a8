"""What `lockgate dashboard` runs, without a terminal around it.

Argument: the settings as JSON; with them `patience`, in seconds, for whoever does not finish a request.

Each line on standard input makes another link, as Enter does in a terminal.
"""

from __future__ import annotations

import json
import logging
import sys

from lockgate.cli.dashboard import tools
from lockgate.cli.serve import log_to_stderr
from lockgate.service.http.serve import Dashboard, DashboardSettings
from lockgate.service.listening import connection_limiter as doors
from lockgate.service.listening import timeout_protocol as patience
from lockgate.store.opening import open_store
from lockgate.system.folders import folders


def main() -> None:
    where = folders()
    open_store(where.state).close()
    log_to_stderr(False, "lockgate.service.http")
    logging.captureWarnings(True)
    sys.stdin.isatty = lambda: True  # type: ignore[method-assign]
    said = json.loads(sys.argv[1])
    doors.TLS_SECONDS = patience.HEAD_SECONDS = said.pop("patience", patience.HEAD_SECONDS)
    settings = DashboardSettings(**said)
    patience.run(Dashboard(where, settings, tools(), lambda line: print(line, flush=True)).run())


main()
