"""Fixtures: the vendor table, with an overlay and an environment."""

from pathlib import Path

import pytest

from app.gateways.families import GATEWAY_SPECS
from app.vendors.table import VendorTable, load_vendors
from tests.vendors.loading import ENV, Load


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load the table with an overlay of this text, in this environment."""

    def load(overlay: str = "", **env: str) -> VendorTable:
        path = tmp_path / "vendors.toml"
        path.write_text(overlay)
        return load_vendors(path, {**ENV, **env}, GATEWAY_SPECS)

    return load
