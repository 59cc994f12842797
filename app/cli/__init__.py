"""`tollgate`, the command line. Each command is imported when it runs, so that help is instant."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from app.cli.output import OutputFailed, checked_output
from app.settings import ConfigError


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command: its name in the module of the same name in `app.cli.commands`, and its summary."""

    attribute: str
    summary: str


COMMANDS: Mapping[str, CommandEntry] = {
    "accounts": CommandEntry("accounts", "Create, list and limit accounts."),
    "db": CommandEntry("db", "Prepare the ledger's database."),
    "dead": CommandEntry("dead", "Decide about events that were not posted."),
    "dev": CommandEntry("dev", "Run all of Tollgate on this machine."),
    "keys": CommandEntry("keys", "Create, list, limit, revoke and rotate API keys."),
    "prices": CommandEntry("prices", "See what models cost; price anew."),
    "prune": CommandEntry("prune_command", "Remove old entries, keep their sums."),
    "reconcile": CommandEntry("reconcile", "Check that the stream, spool and ledger agree."),
    "usage": CommandEntry("usage_command", "Show what accounts used."),
    "vendors": CommandEntry("vendors_command", "Show the vendors, and check that they answer."),
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
        """Return the names."""
        return sorted(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        return load_command(cmd_name)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' summaries without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in sorted(COMMANDS)])

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command line; output that cannot be written is exit code 1."""
        with checked_output():
            try:
                return super().main(*args, **kwargs)
            except OutputFailed:  # nor can the sentence about it
                sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a wrong environment becomes a sentence and exit code 1.

        So does a file that cannot be read or written.
        """
        try:
            return super().invoke(ctx)
        except ConfigError as exc:
            raise click.ClickException(str(exc)) from exc
        except OSError as exc:
            if exc.filename is None:
                raise
            raise click.ClickException(f"{exc.filename}: {exc.strerror}.") from exc


@click.command("tollgate", cls=CommandTable)
@click.version_option(package_name="tollgate")
def main() -> None:
    """Tollgate, a gateway for text completions that accounts for every token."""
