"""`tollgate vendors`: lists the vendors, and checks that they respond."""

import json
import os
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

from app.cli.chat_features import chat_table
from app.cli.tables import format_table, on_terminal
from app.cli.vendors_page import vendors_page
from app.devstack.running import HOW_DEV_DIFFERS, RunningDev, dev_env_path, running_dev
from app.devstack.stack import for_vendors
from app.gateways.families import GATEWAY_SPECS
from app.transport.probe import probe
from app.vendors.table import VendorTable, load_vendors
from app.vendors.vendor import Vendor


@click.command("vendors")
@click.option(
    "--check", is_flag=True, help="Request each configured vendor's list of models; free of charge."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.option("--chat", is_flag=True, help="Print what each vendor can do in chat.")
@click.option("--markdown", is_flag=True, help="Print docs/vendors.md.")
def vendors_command(check: bool, as_json: bool, chat: bool, markdown: bool) -> None:
    """List each vendor with its gateway, its base URL, and whether it is configured."""
    if markdown + chat + (check or as_json) > 1:
        raise click.UsageError("--chat and --markdown print other tables: use one of them alone.")
    if markdown:
        click.echo(vendors_page(), nl=False)
    elif chat:
        for line in chat_table():
            click.echo(line)
    else:
        _list_vendors(check, as_json)


def _list_vendors(check: bool, as_json: bool) -> None:
    overlay, dev = os.environ.get("TOLLGATE_VENDORS"), running_dev(dev_env_path(os.environ))
    here = {name: value for name, value in os.environ.items() if value}
    env = {**dev.settings, **for_vendors(here)} if dev else here
    table = load_vendors(Path(overlay) if overlay else None, env, GATEWAY_SPECS)
    rows = [_row(vendor, dev) for vendor in table]
    if dev is not None:
        click.echo(f"`tollgate dev` is running at {dev.base_url}. {HOW_DEV_DIFFERS}", err=True)
    if check:
        results = _checked(table, env)
        for row in rows:
            row["check"] = results.get(row["vendor"])
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        headings = list(rows[0])
        cells = [list(row.values()) for row in rows]
        for line in format_table(headings, cells, pretty=on_terminal()):
            click.echo(line)
    if check and any(row["check"] and not row["check"].startswith("ok") for row in rows):
        sys.exit(1)


def _row(vendor: Vendor, dev: RunningDev | None) -> dict[str, Any]:
    return {
        "vendor": vendor.name,
        "gateway": vendor.gateway,
        "base_url": vendor.base_url if vendor.has_base_url else None,
        "configured": _state(vendor, dev),
        "fallbacks": ", ".join(vendor.fallbacks) or None,
    }


def _state(vendor: Vendor, dev: RunningDev | None) -> str:
    """Return whether a vendor is configured: here, and in the `tollgate dev` beside this."""
    is_here = vendor.missing is None
    if dev is not None and (vendor.name in dev.vendors) != is_here:
        return "here, but not in `tollgate dev`" if is_here else "in `tollgate dev`"
    if is_here:
        return "yes"
    is_own = vendor.missing in os.environ and vendor.missing not in for_vendors(os.environ)
    return f"no: {vendor.missing} is {'a key of Tollgate' if is_own else 'not set'}"


def _checked(table: VendorTable, env: Mapping[str, str]) -> dict[str, str]:
    vendors = table.configured()
    with ThreadPoolExecutor(max(1, len(vendors))) as pool:
        found = pool.map(lambda vendor: _check(vendor, env), vendors)
        return dict(zip([v.name for v in vendors], found, strict=True))


def _check(vendor: Vendor, env: Mapping[str, str]) -> str:
    """Return the result of a request for the list of models."""
    status, reason = probe(vendor, env)
    if status is None:
        return f"unreachable: {reason}"
    if status in (401, 403):
        return f"key rejected (HTTP {status})"
    if 300 <= status < 400:
        return f"redirects (HTTP {status}): check base_url"
    if status >= 500:
        return f"fails (HTTP {status})"
    return "ok" if status < 300 else f"ok: responds (HTTP {status}), key not checked"
