"""The dashboard over a known ledger, and a browser to look at it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

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


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """Headless Chromium; a laptop without one skips its tests."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        assert "CI" not in os.environ, "CI tests the dashboard: install chromium-driver"
        pytest.skip("no Chromium here")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    # The sandbox needs a user other than root, and /dev/shm is small in containers.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


@pytest.fixture
def chrome(browser: webdriver.Chrome) -> webdriver.Chrome:
    """The browser, with nobody signed in, as wide as a desk's."""
    browser.get("about:blank")
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.set_window_size(1300, 1000)
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    return browser
