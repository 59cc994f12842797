"""The built-in vendor table, with every entry at one simulated vendor."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from app.gateways.families import GATEWAY_SPECS
from app.settings import Settings
from app.vendors.table import BUILT_IN, VendorTable, load_vendors
from tests.support.gateway import Gateway, running
from tests.support.services.sqlite import new_ledger
from tests.support.vendor import SimulatedVendor
from tests.support.vendors import WIRES

KEY = "sk-test"

#: What the simulated vendors of text completions need in their entries.
OVERLAYS = {name: getattr(wire, "overlay", "") for name, wire in WIRES.items()}

#: Deadlines that no answer here comes near.
PATIENT = "{first_token_s = 20.0, idle_s = 20.0, total_s = 30.0}"


def variables() -> dict[str, str]:
    """Return a value for every variable of the built-in table."""
    names = set(re.findall(r"\$\{(\w+)", BUILT_IN.read_text()))
    return {n: "http://some.invalid/v1" if "URL" in n or "ENDPOINT" in n else "x" for n in names}


def rows() -> VendorTable:
    """Return the built-in table's entries."""
    return load_vendors(None, variables(), GATEWAY_SPECS)


def entries() -> dict[str, Any]:
    """Return the built-in table as it is written."""
    found: dict[str, Any] = tomllib.loads(BUILT_IN.read_text())["vendors"]
    return found


@contextmanager
def serving(
    root: Path, redis_url: str, timeouts: str, overlays: Mapping[str, str]
) -> Iterator[tuple[Gateway, SimulatedVendor]]:
    """Run a gateway with every entry of the table; all are at one simulated vendor.

    `overlays` has lines to add to entries, by their names.
    """
    vendor = SimulatedVendor()
    with running(settings_of(root, redis_url, overlay_of(vendor, timeouts, overlays))) as gateway:
        yield gateway, vendor
    vendor.stop()


def overlay_of(vendor: SimulatedVendor, timeouts: str, overlays: Mapping[str, str]) -> str:
    """Return an overlay of the table whose entries are all at one vendor."""
    host = vendor.url.removesuffix("/v1")
    overlay = ""
    for row in rows():
        overlay += f'[vendors.{row.name}]\nbase_url = "{host}{urlsplit(row.base_url).path}"\n'
        overlay += f"retries = 0\ntimeouts = {timeouts}\n"
        overlay += overlays.get(row.name, "") + "\n"
        if "api_key_env" in entries()[row.name]:
            overlay += 'api_key_env = "CONTRACT_KEY"\n'
    return overlay


def settings_of(root: Path, redis_url: str, overlay: str) -> Settings:
    """Return the settings of a gateway whose entries are changed by an overlay.

    The environment has a value for every variable of the table, and `CONTRACT_KEY`.
    """
    table = root / "vendors.toml"
    table.write_text(overlay)
    return Settings(
        journal="off",  # no worker posts: it would send again what a flush between tests removes
        redis_url=redis_url,
        database_url=new_ledger(root / "ledger.db"),
        vendors_file=table,
        spool_dir=root / "spool",
        env={**variables(), "CONTRACT_KEY": KEY},
    )
