"""`tollgate`, the command line.

Each command is a module of `commands` and is imported when it runs, so that help is instant.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from click.exceptions import NoSuchCommand

from app import __version__
from app.cli.output import OutputFailed, checked_output, readable
from app.settings import ConfigError


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command: its attribute in the module of its name in `app.cli.commands`, and its summary."""

    attribute: str
    summary: str


COMMANDS: Mapping[str, CommandEntry] = {
    "accounts": CommandEntry("accounts", "Create, list, change, disable and limit accounts."),
    "audit": CommandEntry("audit", "List who changed what, and when."),
    "cells": CommandEntry("cells", "List the cells that post to the ledger."),
    "config": CommandEntry("config", "Check the configuration before a start."),
    "db": CommandEntry("db", "Prepare the ledger's database."),
    "dead": CommandEntry("dead", "List, retry and drop dead-lettered events."),
    "dev": CommandEntry("dev", "Run all of Tollgate on this host."),
    "invoice": CommandEntry("invoice_command", "Print an account's invoice for a month."),
    "keys": CommandEntry("keys", "Create, list, find, limit, revoke and rotate API keys."),
    "prices": CommandEntry("prices", "Show prices, and re-price requests."),
    "prune": CommandEntry("prune_command", "Remove old entries and keep their totals."),
    "reconcile": CommandEntry("reconcile", "Check that the stream, spool and ledger agree."),
    "requests": CommandEntry("requests", "List requests, and show why one failed."),
    "start": CommandEntry("start", "Run the Procfile on this host."),
    "refusals": CommandEntry("refusals_command", "Show the requests that were refused, and why."),
    "usage": CommandEntry("usage_command", "Show the usage of accounts."),
    "vendors": CommandEntry("vendors_command", "List the vendors, and check that they respond."),
}


def load_command(name: str) -> click.Command | None:
    """Import the command `name`; None if there is none."""
    entry = COMMANDS.get(name)
    if entry is None:
        return None
    module = import_module(f"app.cli.commands.{name}")
    command: click.Command = getattr(module, entry.attribute)
    return command


class CommandTable(click.Group):
    """A group whose commands are the entries of COMMANDS."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was asked for; an unknown one is compared with the entries."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as exc:
            raise NoSuchCommand(exc.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' summaries without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in sorted(COMMANDS)])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reject arguments that are not text: neither a database nor an output takes them."""
        for arg in args:
            if not _is_text(arg):
                raise click.UsageError(f"The argument {arg!a} is not valid UTF-8 text. Correct it.")
        return super().parse_args(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; exit with 1 if its output cannot be written."""
        with checked_output():
            try:
                return super().main(*args, **kwargs)
            except OutputFailed:  # the error message could not be written either
                sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; exit with 1 and a message for invalid settings and file errors."""
        try:
            return super().invoke(ctx)
        except click.ClickException as exc:
            vars(exc)["message"] = readable(exc.message)  # click declares it final
            raise
        except ConfigError as exc:
            raise click.ClickException(str(exc)) from exc
        except OSError as exc:
            if exc.filename is None:
                raise
            raise click.ClickException(f"{exc.filename}: {exc.strerror}.") from exc


def _is_text(arg: str) -> bool:
    """Whether an argument is text; Python keeps bytes that are not UTF-8 as surrogates."""
    return "\0" not in arg and not any("\ud800" <= character <= "\udfff" for character in arg)


@click.command("tollgate", cls=CommandTable)
@click.version_option(__version__)
def main() -> None:
    """Tollgate, a gateway for text and chat completions that accounts for every token."""
