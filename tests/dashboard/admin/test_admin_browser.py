"""The administration in headless Chromium, by keyboard."""

from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.dashboard.test_browser import Served, sign_in
from tests.support.services.polling import wait_until


def focus(chrome: webdriver.Chrome, wanted: str) -> WebElement:
    """Press Tab until the element of this accessible name has the focus; each has one."""
    for _ in range(60):
        found = chrome.switch_to.active_element
        if found.accessible_name == wanted:
            return found
        found.send_keys(Keys.TAB)
        assert chrome.switch_to.active_element.accessible_name
    raise AssertionError(f"not reached by Tab: {wanted}")


def heading(chrome: webdriver.Chrome) -> Any:
    """Return the page's title, read in one step, as the next page may be loading."""
    return chrome.execute_script("return document.querySelector('h1')?.textContent ?? ''")


def test_a_key_is_created_by_keyboard_alone(chrome: webdriver.Chrome, served: Served) -> None:
    _, site = served
    sign_in(chrome, served, "admin", "/admin")
    focus(chrome, "Create a key").send_keys(Keys.ENTER)
    wait_until(lambda: heading(chrome) == "Create a key")
    focus(chrome, "Review").send_keys(Keys.ENTER)
    wait_until(lambda: chrome.find_elements(By.ID, "problems"))
    assert chrome.title.startswith("Error: ")
    accounts = chrome.find_element(By.ID, "accounts")
    assert "accounts-problem" in (accounts.get_attribute("aria-describedby") or "")
    focus(chrome, "acme (The acme team)").send_keys(Keys.SPACE)
    focus(chrome, "Expires").send_keys("90d")
    focus(chrome, "Review").send_keys(Keys.ENTER)
    wait_until(lambda: heading(chrome) == "Create a key: confirm")
    focus(chrome, "Create the key").send_keys(Keys.ENTER)
    wait_until(lambda: heading(chrome) == "Done")
    key = site.accounts.find_key(chrome.find_element(By.ID, "secret").text)
    assert key is not None
    assert key.account_ids == ("acme",)
    assert key.expires_at_ms is not None


@pytest.mark.parametrize("width", [360, 1300])
@pytest.mark.parametrize(
    "page",
    ["", "/audit", "/create-key", "/set-limits?account=acme", "/disable-account?account=acme"],
)
def test_a_page_is_no_wider_than_its_window(
    chrome: webdriver.Chrome, served: Served, page: str, width: int
) -> None:
    chrome.set_window_size(width, 800)
    sign_in(chrome, served, "admin", f"/admin{page}")
    wide = "return document.documentElement.scrollWidth <= window.innerWidth"
    assert chrome.execute_script(wide)
