"""Waits until every web process has noticed a revocation or a disabled account."""

import time

import click

from app.accounts.keyring import revocation_bound_s
from app.settings import key_cache_s


def wait_until_noticed(done: str, then: str) -> None:
    """Print what was done, wait, and print what is true from then on, both on stderr.

    A web process caches keys for TOLLGATE_KEY_CACHE_S, so no process needs to be told, and the wait
    is the same while Redis is down.
    """
    bound_s = revocation_bound_s(key_cache_s())
    try:
        click.echo(
            f"{done} Waiting {bound_s:g} s, until every web process has noticed. Ctrl-C ends only"
            " the waiting.",
            err=True,
        )
        time.sleep(bound_s)
    except KeyboardInterrupt:
        click.echo("Not waiting any longer.", err=True)
    else:
        click.echo(then, err=True)
