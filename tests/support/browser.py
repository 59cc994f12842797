"""A browser to look at pages, and axe-core, which finds what shuts people with disabilities out."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from selenium import webdriver

from tests.support.services.node_packages import installed

#: Runs all of its rules: those of WCAG, and good practice.
AXE = """
const done = arguments[arguments.length - 1];
axe.run().then((found) => done([
  ...(found.passes.length ? [] : ['no rule applied']),
  ...found.violations.map(
    (it) => [it.id, it.nodes.map((node) => node.html.slice(0, 200) + node.failureSummary)]),
]));
"""


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core, which finds what people with disabilities cannot use."""
    folder = installed("axe-core@4") / "node_modules" / "axe-core"
    return (folder / "axe.min.js").read_text()


def violations(chrome: webdriver.Chrome, axe: str) -> Any:
    chrome.execute_script(axe)
    return chrome.execute_async_script(AXE)


@contextmanager
def scheme(chrome: webdriver.Chrome, name: str) -> Iterator[None]:
    feature = {"name": "prefers-color-scheme", "value": name}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    yield
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@contextmanager
def width_of(chrome: webdriver.Chrome, width: int) -> Iterator[None]:
    device = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    try:
        yield
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
