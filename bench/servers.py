"""Servers that benchmarks start."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from tests.support.services.postgres import Postgres, find_binaries


@contextmanager
def durable_postgres() -> Iterator[Postgres]:
    """Yield a PostgreSQL server each of whose commits is on the disk.

    Raises: ClickException where none is installed.
    """
    binaries = find_binaries()
    if binaries is None:
        raise click.ClickException("There is no PostgreSQL server here (Debian: postgresql).")
    server = Postgres(binaries, durable=True)
    try:
        yield server.start()
    finally:
        server.stop()
