"""`tollgate config`: checks the configuration before anything starts."""

import os
import sys

import click

from app.cli.tables import format_table
from app.devstack.running import HOW_DEV_DIFFERS, dev_env_path, running_dev
from app.startup.common import check_common, read_settings
from app.startup.finding import Finding
from app.startup.web import check_host, check_web

#: How long a service may take to respond, in seconds; processes that start wait for less.
LIMIT_S = 5.0

#: What has the port, if that is so.
DEV = "`tollgate dev` has it. Stop that, or set PORT"

#: What the table calls each state.
_WORDS = {"ok": "ok", "warning": "warning", "down": "down", "refused": "FAULT"}


@click.group("config")
def config() -> None:
    """Check the configuration."""


@config.command("check")
def check() -> None:
    """Check what web, worker and beat check when they start; run this before you start them.

    Each line is a setting, a file or a service. FAULT: the processes named do not start. down: they
    start, and wait for the service. Exits with 1 if there is a fault, or a service is down.
    """
    read, dev = read_settings(os.environ), running_dev(dev_env_path(os.environ))
    found = [*check_common(read, LIMIT_S), *check_web(read)]
    found += check_host(read.settings, {dev.port: DEV} if dev and dev.port else {})
    headings = ("state", "checked", "for", "result")
    if dev is not None:
        click.echo(f"`tollgate dev` is running at {dev.base_url}. {HOW_DEV_DIFFERS}", err=True)
    for line in format_table(headings, [_row(it) for it in found], pretty=False):
        click.echo(line)
    faults = sum(it.state == "refused" for it in found)
    down = sum(it.state == "down" for it in found)
    if faults or down:
        click.echo(f"Faults: {faults}. Services that are down: {down}.", err=True)
        sys.exit(1)


def _row(found: Finding) -> tuple[str, str, str, str]:
    return _WORDS[found.state], found.subject, ", ".join(found.processes), found.message
