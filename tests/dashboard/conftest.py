"""The dashboard over a known ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import Settings
from tests.dashboard.site import DashboardSite, make_site
from tests.support.gateway import Gateway, running


@pytest.fixture
def settings(tmp_path: Path, redis_url: str, sqlite_url: str) -> Settings:
    """A deployment without a vendor of its own: nobody asks for a completion here."""
    return Settings(redis_url=redis_url, database_url=sqlite_url, spool_dir=tmp_path / "spool")


@pytest.fixture
def site(settings: Settings) -> Iterator[DashboardSite]:
    """The pages without a server, over the known ledger."""
    site = make_site(settings)
    yield site
    site.close()


@pytest.fixture
def served(settings: Settings) -> Iterator[tuple[str, DashboardSite]]:
    """The URL of the dashboard, served over the known ledger."""
    site = make_site(settings)
    with running(settings, "served") as gateway:
        yield _root(gateway), site
    site.close()


def _root(gateway: Gateway) -> str:
    return gateway.base_url.removesuffix("/v5") + "/dashboard"
