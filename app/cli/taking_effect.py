"""Waits until every web process has noticed a revocation or a disabled account."""

import os
import time
from collections.abc import Mapping

import click

from app.accounts.keyring import REVOCATION_BOUND_S, revocation_bound_s


def wait_until_noticed(done: str, then: str) -> None:
    """Print what was done, wait, and print what is true from then on, both on stderr.

    A web process caches keys for TOLLGATE_KEY_CACHE_S, so no process needs to be told, and the wait
    is the same while Redis is down.
    """
    bound_s = _bound_s(os.environ)
    try:
        click.echo(
            f"{done} Waiting {bound_s:g} s, until every web process has noticed. Ctrl-C ends only"
            " the waiting.",
            err=True,
        )
        time.sleep(bound_s)  # the longest that a web process keeps a key in its cache
    except KeyboardInterrupt:
        click.echo("Not waiting any longer.", err=True)
    else:
        click.echo(then, err=True)


def _bound_s(env: Mapping[str, str]) -> float:
    """Return how long web processes with this environment may take to notice."""
    try:
        cache_s = float(env.get("TOLLGATE_KEY_CACHE_S") or REVOCATION_BOUND_S)
    except ValueError:  # no web process starts with it, so those that run have another one
        return REVOCATION_BOUND_S
    return revocation_bound_s(cache_s) if cache_s > 0 else REVOCATION_BOUND_S
