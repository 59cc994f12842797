"""Options that narrow a command to accounts, models or keys; an unknown name is an error."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import click
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.accounts.rotation import unknown_key
from app.gateways.families import GATEWAY_SPECS
from app.ledger.reports.known import Named, without_usage
from app.vendors.table import load_vendors


class ModelName(click.ParamType[str]):
    """A model as callers request it: `vendor/name`."""

    name = "vendor/name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name unchanged."""
        vendor, _, name = value.partition("/")
        if not vendor or not name:
            self.fail(f"must be VENDOR/NAME, such as openai/gpt-4o, not {value!r}", param, ctx)
        return value


#: Kind of name -> what to say of one that is unknown.
_UNKNOWN: Mapping[Named, str] = {
    "account_ids": "There is no account {0}. List the accounts: tollgate accounts list",
    "api_key_ids": "There is no key {0}. List the keys: tollgate keys list",
    "models": "No usage of the model {0} is recorded. List the models: tollgate usage --since 365d"
    " --by model",
    "vendors": "There is no vendor entry {0}. List them: tollgate vendors",
}


def check_names(engine: Engine, **names: tuple[str, ...]) -> None:
    """Check that each name exists or has usage; keywords are those of Named.

    Raises: ClickException that names the first unknown one; LedgerUnavailable.
    """
    accounts = Accounts(engine)
    exist: Mapping[Named, Callable[[str], object]] = {
        "account_ids": accounts.exists,
        "api_key_ids": accounts.get_key,
        "models": lambda _: False,
        "vendors": _is_entry,
    }
    for kind, is_there in exist.items():
        unseen = [name for name in names.get(kind, ()) if not is_there(name)]
        if unknown := without_usage(engine, kind, unseen):
            if kind == "api_key_ids" and unknown[0].startswith("tg_"):
                raise click.ClickException(str(unknown_key(unknown[0])))
            raise click.ClickException(_UNKNOWN[kind].format(unknown[0]))


def _is_entry(vendor: str) -> bool:
    """Return whether the vendor table has the entry.

    Raises: ConfigError if the table is invalid.
    """
    overlay = os.environ.get("TOLLGATE_VENDORS")
    table = load_vendors(Path(overlay) if overlay else None, os.environ, GATEWAY_SPECS)
    return any(it.name == vendor for it in table)


def chosen(names: tuple[str, ...]) -> frozenset[str] | None:
    """Return the names of a repeatable option as a filter; None if it was not given."""
    return frozenset(names) or None
