"""Who runs a command, for the audit trail, and changes that are recorded after the fact."""

import getpass
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from app.accounts.accounts import Accounts
from app.accounts.apikey import NAME_LIMIT
from app.cli.ledger import open_ledger
from app.settings import ConfigError
from app.storage.sql.audit import Actor, Change, record
from app.storage.sql.transactions import write

VARIABLE = "TOLLGATE_ACTOR"


def cli_actor(env: Mapping[str, str] = os.environ) -> Actor:
    """Return who runs this command: TOLLGATE_ACTOR, or the system's user and host.

    Raises: ConfigError if TOLLGATE_ACTOR is not a name.
    """
    name = env.get(VARIABLE) or f"{_user()}@{socket.gethostname()}"
    if not name.strip() or not name.isprintable() or len(name) > NAME_LIMIT:
        raise ConfigError(f"{VARIABLE} must be 1 to {NAME_LIMIT} printable characters")
    return Actor(name, "cli")


@contextmanager
def open_accounts() -> Iterator[Accounts]:
    """Yield the ledger's accounts, whose changes are recorded as this command's.

    Raises: ClickException with the next step; ConfigError.
    """
    actor = cli_actor()
    with open_ledger() as engine:
        yield Accounts(engine, actor=actor)


def record_after(change: Change) -> None:
    """Record a change that is not in the ledger's database; say so if that is impossible."""
    actor = cli_actor()
    try:
        with open_ledger() as engine:
            write(
                engine,
                lambda connection: record(connection, int(time.time() * 1000), actor, change),
            )
    except click.ClickException as exc:
        click.echo(f"This is not in the audit trail. {exc.message}", err=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return f"uid-{os.getuid()}"
