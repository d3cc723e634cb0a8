"""Records whose words the prompts of a CI job can hold.

``lockgate ci`` keeps it before a client begins. It is bound to one run of one job, which a hook reads from what its
client was started with: settings of a project can change a hook's own variables.
"""

from __future__ import annotations

from lockgate.core.errors import BadInputError
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.session.sealed_settings import drop_old, seal_setting, unseal_setting
from lockgate.store import chain_links
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lockgate.core.events import Context
    from lockgate.store.protocol import Transaction

RUN = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB")
"""The variables that name one run of one job. The service sets them, and steps of a workflow cannot set them anew.

Source: https://docs.github.com/en/actions/reference/workflows-and-actions/variables
"""
_SETTING = "job:"
_MOST_JOBS = 1000


def run_of(environ: Mapping[str, str]) -> str:
    """The name of a job's run, by the variables of a process; empty where they do not name one."""
    values = [environ.get(name, "") for name in RUN]
    return sha256("\0".join(values).encode("utf-8", "surrogateescape")).hexdigest() if all(values) else ""


def keep_job(tx: Transaction, run: str, strangers: str, now: float) -> str:
    """Keep whose words the prompts of a job can hold. What was kept before can only become stricter.

    Args:
        tx: The transaction.
        run: The job's run.
        strangers: Whose words they can hold beside those of people who can write; empty for nobody's.
        now: Seconds since the epoch.

    Returns:
        Whose words count from now on.

    Raises:
        BadInputError: Too many jobs are kept.
    """
    if len(drop_old(tx, chain_links.PURPOSE_JOB, _SETTING, now)) >= _MOST_JOBS:
        raise BadInputError(f"{_MOST_JOBS} jobs are kept already; they are dropped after a day")
    strangers = job_of(tx, run, now).get("strangers") or strangers
    text = seal_setting(tx, chain_links.PURPOSE_JOB, run, {"at": now, "strangers": strangers})
    tx.put_setting(f"{_SETTING}{run}", text)
    return strangers


def job_of(tx: Transaction, run: str, now: float) -> Mapping[str, Any]:
    """What is kept of a job; nothing where it was not set up."""
    return unseal_setting(tx, chain_links.PURPOSE_JOB, run, tx.setting(f"{_SETTING}{run}"), now) if run else {}


def strangers_in(tx: Transaction, context: Context, now: float) -> str:
    """The strangers whose words a prompt can hold in a context's CI job, for a person; empty for none."""
    kept = job_of(tx, context.run, now)
    if not kept:
        return f"the prompt of a CI job ({context.job} is set)"
    return str(kept["strangers"])
