"""`tollgate dev`: runs all processes of Tollgate on this host until Ctrl-C."""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
import requests

from app.accounts.accounts import Accounts
from app.cli.actor import cli_actor
from app.cli.dev_screen import MODEL, screen, variables_of_clients
from app.cli.tables import Cell, format_table
from app.devstack.children import ChildFailed, Children
from app.devstack.demo import DemoClient, DemoFailed
from app.devstack.running import DEV_ENV, left
from app.devstack.stack import OWN_KEY, START_S, Stack, for_vendors, free_port, listen
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import upgrade
from app.vocabulary.errors import TollgateError

ACCOUNT = "demo"
#: How often the children are checked while they run, in seconds.
CHECK_S = 0.5
#: The same model, slow enough to watch the words arrive.
SLOW_MODEL = f"{MODEL}?delay_ms=50"
PROMPT = "Every word of this answer is a token, and each of them is counted once."
MESSAGE = "The words of a chat are counted in the same way."


@click.command()
@click.option(
    "--port",
    envvar="PORT",
    type=click.IntRange(1, 65535),
    default=8000,
    show_default=True,
    show_envvar=True,
    help="Port of the gateway on the loopback interface.",
)
@click.option(
    "--var",
    envvar="TOLLGATE_VAR",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("var"),
    show_default=True,
    show_envvar=True,
    help="Directory for the ledger, Valkey's files, the API key and the logs.",
)
def dev(port: int, var: Path) -> None:
    """Run all of Tollgate on this host, show two completions and their usage, and keep running.

    The account, its key and its usage are kept for the next run. To use vendors, set their keys
    in the environment (OPENAI_API_KEY and so on).
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        with _locked(var.resolve()) as directory, listen(port) as web, listen(0) as sandbox:
            _run(Stack(directory, web, sandbox, free_port()))
    except (ChildFailed, DemoFailed, TollgateError, requests.RequestException) as exc:
        raise click.ClickException(f"{exc}\nFix the cause and run `tollgate dev` again.") from exc
    except KeyboardInterrupt:
        _say("Stopped. The recorded usage is kept.")


def _run(stack: Stack) -> None:
    base_url, dev_env = stack.base_url, stack.var / DEV_ENV
    if OWN_KEY in os.environ and OWN_KEY not in for_vendors(os.environ):
        _say(f"{OWN_KEY} is a key of Tollgate, so OpenAI's models are not available")
    _say(f"Ledger: {stack.var / 'ledger.db'}")
    upgrade(stack.database_url)
    key = _demo_key(stack.database_url, stack.var / "dev-key")
    variables = {**variables_of_clients(base_url, key), **stack.settings()}
    with Children(stack.var / "log", stack.environment()) as children, left(dev_env, variables):
        stack.start(children, _say)
        # A user of its own tells the usage of this run from that of others.
        run = time.strftime("dev-%Y%m%dT%H%M%SZ", time.gmtime())
        _show_completions(children, DemoClient(f"{base_url}/v5", key, run))
        click.echo(screen(base_url, key, dev_env))
        _say(f"Running until Ctrl-C. Logs: {stack.var / 'log'}")
        while True:
            children.check()
            time.sleep(CHECK_S)  # until Ctrl-C, between two checks of the children


def _demo_key(database_url: str, path: Path) -> str:
    """Return the demo account's key from `path`, or create one: the ledger has only its hash."""
    engine = create_engine(database_url)
    try:
        accounts = Accounts(engine, actor=cli_actor())
        stored = path.read_text(encoding="ascii").strip() if path.exists() else ""
        known = accounts.find_key(stored)
        if known is not None and known.is_live(int(time.time() * 1000)):
            _say(f"Account {ACCOUNT}, with the key in {path}")
            return stored
        if not accounts.exists(ACCOUNT):
            accounts.create(ACCOUNT, "Demo")
        scopes = ["completions", "usage"]
        key, secret = accounts.create_key([ACCOUNT], scopes, name="tollgate dev", enabled=False)
        with accounts.hand_over(key):
            path.touch(mode=0o600)
            path.write_text(secret + "\n", encoding="ascii")
    finally:
        engine.dispose()
    _say(f"Account {ACCOUNT}, with a new key in {path}")
    return secret


def _show_completions(children: Children, client: DemoClient) -> None:
    _say(f"One streamed completion of {SLOW_MODEL}:\n")
    _show(client.stream(SLOW_MODEL, PROMPT))
    _say("And one streamed chat completion:\n")
    _show(client.chat(SLOW_MODEL, MESSAGE))
    _say("Waiting for the worker to post them to the ledger")
    children.wait_until(lambda: _requests(client) >= 2, "worker", START_S)
    _say("Usage of this run:\n")
    headings = ("model", "requests", "input tokens", "output tokens")
    rows: list[list[Cell]] = [[model, *counts] for model, counts in sorted(client.usage().items())]
    for line in format_table(headings, rows, pretty=True):
        click.echo(f"  {line}")
    click.echo()


def _show(texts: Iterator[str]) -> None:
    for text in texts:
        click.echo(text, nl=False)
    click.echo("\n")


def _requests(client: DemoClient) -> int:
    return sum(counts[0] for counts in client.usage().values())


@contextmanager
def _locked(var: Path) -> Iterator[Path]:
    """Lock the directory: two Valkeys on the same files would corrupt them."""
    var.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (var / "lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise click.ClickException(
                f"Another `tollgate dev` uses {var}. Stop it, or choose another directory and port:"
                " TOLLGATE_VAR=var2 PORT=8001"
            ) from exc
        yield var


def _say(text: str) -> None:
    click.echo(text, err=True)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
