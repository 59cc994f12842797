"""`tollgate start`: runs the Procfile on this host."""

import os
import sys
from pathlib import Path

import click

from app.devstack.procfile import PROCFILE, ProcfileRun, read_procfile
from app.observability.logs import configure
from app.startup.common import read_settings
from app.startup.server_settings import read_server_settings

#: Seconds that web processes need after the grace time to abort and record what is left.
ABORT_S = 8.0

#: Seconds that their master needs to exit after them.
SPARE_S = 2.0


@click.command()
def start() -> None:
    """Run the release step of the Procfile, then its other processes, until one ends.

    SIGTERM and Ctrl-C stop them all. Requests in flight get TOLLGATE_GRACE_S seconds (20) to
    finish; press Ctrl-C again to abort them at once. They are recorded in both cases.
    """
    server, problems = read_server_settings()
    read = read_settings()
    for variable, problem in {**read.problems, **problems}.items():
        raise click.ClickException(f"{variable} {problem}. See `tollgate config check`.")
    configure(read.settings.log_format)
    commands = read_procfile(PROCFILE.read_text(encoding="utf-8"))
    stop_s = server.grace_s + ABORT_S + SPARE_S
    run = ProcfileRun(commands, _environment(), stop_s, ABORT_S + SPARE_S)
    sys.exit(run.run())


def _environment() -> dict[str, str]:
    """Return this process's environment; the commands are found beside this one, too."""
    beside = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])}
