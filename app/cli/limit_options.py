"""`tollgate accounts limit` and `tollgate keys limit`: the options, and the shared command."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, TypeVar

import click

from app.accounts.accounts import Accounts
from app.accounts.keyring import REVOCATION_BOUND_S
from app.cli.actor import cli_actor
from app.cli.ledger import open_ledger
from app.ledger.reports.allowances import Allowance, read_allowance
from app.ledger.reports.reader import UsageReader
from app.vocabulary.limits import PERIODS, Kind, Limits
from app.vocabulary.money import nanousd_of, show_usd

Command = TypeVar("Command", bound=Callable[..., Any])

#: The value that removes a limit.
NONE: Final = "none"
Lifted = Literal["none"]


class Count(click.ParamType["int | Lifted"]):
    """A whole number, or `none`."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | Lifted:
        if value == NONE:
            return NONE
        try:
            return int(value)
        except ValueError:
            self.fail(f"must be a whole number or `{NONE}`, not {value!r}", param, ctx)


class Dollars(click.ParamType["int | Lifted"]):
    """An amount of US dollars, in nano-dollars, or `none`."""

    name = "dollars"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | Lifted:
        if value == NONE:
            return NONE
        try:
            return nanousd_of(Decimal(value))
        except (InvalidOperation, ValueError):
            self.fail(
                f"must be an amount of dollars, such as 500 or 0.50, or `{NONE}`, not {value!r}",
                param,
                ctx,
            )


OPTIONS = (
    click.option("--rpm", "requests_per_minute", type=Count(), help="Requests per minute."),
    click.option("--tpm", "tokens_per_minute", type=Count(), help="Tokens per minute."),
    click.option("--streams", type=Count(), help="Concurrent streams."),
    click.option(
        "--budget-usd", "budget_nanousd", type=Dollars(), help="Most spending per period."
    ),
    click.option(
        "--soft-usd", "soft_nanousd", type=Dollars(), help="Spending that triggers a warning."
    ),
    click.option(
        "--per",
        "period",
        type=click.Choice(PERIODS),
        help="Period of the budget; days and months are in UTC.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print a JSON object."),
)


def limit_options(command: Command) -> Command:
    """Add the options that change limits to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def change_and_show(kind: Kind, subject_id: str, options: dict[str, Any], *, as_json: bool) -> None:
    """Change the given limits and print all limits, and what is spent of a budget."""
    given = {name: value for name, value in options.items() if value is not None}
    changes = {name: None if value == NONE else value for name, value in given.items()}
    actor = cli_actor()
    with open_ledger() as engine:
        accounts = Accounts(engine, actor=actor)
        if changes:
            limits = accounts.set_limits(kind, subject_id, **changes)
            click.echo(f"Effective in every web process within {REVOCATION_BOUND_S} s.", err=True)
        else:
            limits = accounts.limits(kind, subject_id)
        spent = read_allowance(UsageReader(engine), limits, int(time.time() * 1000))
    click.echo(
        json.dumps(asdict(limits), indent=2) if as_json else "\n".join(_lines(limits, spent))
    )


def _lines(limits: Limits, spent: Allowance | None) -> list[str]:
    rows = {
        "requests per minute": limits.requests_per_minute,
        "tokens per minute": limits.tokens_per_minute,
        "concurrent streams": limits.streams,
        f"budget per {limits.period} (UTC)": _usd(limits.budget_nanousd),
        f"warning per {limits.period} (UTC)": _usd(limits.soft_nanousd),
    }
    if spent is not None:
        rows[f"spent this {limits.period} (UTC)"] = f"{_usd(spent.spent_nanousd)}, {spent.state}"
    width = max(map(len, rows))
    return [f"{name:{width}}  {NONE if limit is None else limit}" for name, limit in rows.items()]


def _usd(nanousd: int | None) -> str | None:
    return None if nanousd is None else show_usd(nanousd)
