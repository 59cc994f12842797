"""The dashboard in headless Chromium: signing in, filtering, reading, by mouse and by keyboard."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.dashboard.site import DashboardSite
from tests.support.services.polling import wait_until

RANGE = "since=2026-09-01&until=2026-09-30"

Served = tuple[str, DashboardSite]

#: Text on its background, and what must be told from what it lies on, with the least contrast.
CONTRASTS = [
    *((text, page, 4.5) for text in ("text", "faint", "link", "bad") for page in ("card", "page")),
    ("bad", "bad-page", 4.5),
    ("good", "card", 4.5),
    ("primary-text", "primary", 4.5),
    ("focus", "card", 3.0),
    ("focus", "page", 3.0),
    *((f"series-{number}", "card", 3.0) for number in range(1, 9)),
]


def sign_in(chrome: webdriver.Chrome, served: Served, kind: str, where: str) -> None:
    root, site = served
    chrome.get(f"{root}{where}")
    chrome.find_element(By.ID, "api_key").send_keys(site.keys[kind] + Keys.ENTER)
    wait_until(lambda: chrome.find_elements(By.CLASS_NAME, "sign-out"))


def said(chrome: webdriver.Chrome, element_id: str) -> str:
    return chrome.find_element(By.ID, element_id).text


def first_cells(chrome: webdriver.Chrome, table_id: str) -> list[str]:
    rows = chrome.find_elements(By.CSS_SELECTOR, f"#{table_id} tbody tr")
    return [row.find_element(By.TAG_NAME, "th").text for row in rows]


def look(chrome: webdriver.Chrome, script: str, *values: Any) -> Any:
    return chrome.execute_script(script, *values)


def colours(chrome: webdriver.Chrome) -> set[tuple[int, ...]]:
    """The colors of the first chart's bars."""
    fills = look(
        chrome,
        "return Array.from(document.querySelector('.plot svg').querySelectorAll('rect'),"
        "  (bar) => getComputedStyle(bar).fill.match(/\\d+/g).join());",
    )
    return {tuple(map(int, fill.split(","))) for fill in fills}


def variable(chrome: webdriver.Chrome, name: str) -> tuple[int, ...]:
    style = "return getComputedStyle(document.documentElement).getPropertyValue(arguments[0])"
    return tuple(bytes.fromhex(look(chrome, style, f"--{name}").strip().removeprefix("#")))


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """WCAG 2.2's contrast ratio."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: tuple[int, ...]) -> float:
    shares = [value / 255 for value in colour]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return sum(w * value for w, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@contextmanager
def scheme(chrome: webdriver.Chrome, name: str) -> Iterator[None]:
    feature = {"name": "prefers-color-scheme", "value": name}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    yield
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_an_admin_signs_in_filters_and_signs_out(chrome: webdriver.Chrome, served: Served) -> None:
    sign_in(chrome, served, "admin", f"?{RANGE}")
    assert said(chrome, "requests") == "4"
    assert said(chrome, "cost") == "$1.41 +"
    assert first_cells(chrome, "groups") == ["openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"]

    Select(chrome.find_element(By.ID, "account")).select_by_visible_text("acme")
    Select(chrome.find_element(By.ID, "by")).select_by_visible_text("Vendor")
    chrome.find_element(By.CSS_SELECTOR, ".filters button").click()
    wait_until(lambda: "account=acme" in chrome.current_url)
    assert said(chrome, "requests") == "3"
    assert said(chrome, "prompt-tokens") == "1,300"
    assert first_cells(chrome, "groups") == ["openai", "anthropic"]

    chrome.find_element(By.LINK_TEXT, "anthropic").click()
    wait_until(lambda: "vendor=anthropic" in chrome.current_url)
    assert said(chrome, "completion-tokens") == "45"
    chrome.find_element(By.LINK_TEXT, "failed").click()
    wait_until(lambda: "/requests" in chrome.current_url)
    assert first_cells(chrome, "list") == ["2026-09-02 01:01:00"]

    chrome.find_element(By.CSS_SELECTOR, ".sign-out button").click()
    wait_until(lambda: chrome.find_elements(By.ID, "api_key"))
    chrome.get(served[0])
    assert chrome.find_elements(By.ID, "api_key")
    assert complaints(chrome) == []


def complaints(chrome: webdriver.Chrome) -> list[Any]:
    """What the browser complains of: breaches of the policy, errors, what is not found."""
    logged = chrome.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry for entry in logged if entry["level"] == "SEVERE"]


def test_the_chart_is_drawn_in_the_schemes_colours(
    chrome: webdriver.Chrome, served: Served
) -> None:
    sign_in(chrome, served, "admin", f"?{RANGE}&by=account")
    with scheme(chrome, "light"):
        light = variable(chrome, "series-1")
        wait_until(lambda: light in colours(chrome))
    with scheme(chrome, "dark"):
        dark = variable(chrome, "series-1")
        assert dark != light
        wait_until(lambda: dark in colours(chrome))
        assert light not in colours(chrome)
    assert complaints(chrome) == []


def test_a_bar_has_its_time_its_series_and_its_value(
    chrome: webdriver.Chrome, served: Served
) -> None:
    """The browser shows them when the pointer rests on the bar."""
    sign_in(chrome, served, "admin", f"?{RANGE}&by=account")
    title = chrome.find_element(By.CSS_SELECTOR, ".plot rect title")
    assert title.get_attribute("textContent") == "2026-09-01 acme: 1,200"
    size = chrome.find_element(By.CSS_SELECTOR, ".plot rect").size
    assert size["width"] > 1
    assert size["height"] > 1


@pytest.mark.parametrize("page", ["", "/requests", "/accounts"])
@pytest.mark.parametrize("width", [360, 1300])
def test_a_page_is_no_wider_than_its_window(
    chrome: webdriver.Chrome, served: Served, page: str, width: int
) -> None:
    phone = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        sign_in(chrome, served, "admin", f"{page}?{RANGE}")
        assert look(chrome, "return document.documentElement.scrollWidth") <= width
    finally:
        chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_javascript_every_figure_is_there(chrome: webdriver.Chrome, served: Served) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    sign_in(chrome, served, "usage", f"?{RANGE}&by=account")
    assert said(chrome, "requests") == "3"
    assert first_cells(chrome, "groups") == ["acme"]
    chrome.find_element(By.TAG_NAME, "summary").click()
    cells = chrome.find_elements(By.CSS_SELECTOR, "table.series td")
    assert [cell.text for cell in cells[:3]] == ["1,200", "345", "0"]
    assert chrome.find_elements(By.CSS_SELECTOR, ".plot rect")


def test_the_keyboard_reaches_all_that_the_mouse_does(
    chrome: webdriver.Chrome, served: Served
) -> None:
    sign_in(chrome, served, "admin", f"?{RANGE}")
    keys = webdriver.ActionChains(chrome)
    keys.send_keys(Keys.TAB).perform()
    skip = chrome.switch_to.active_element
    wait_until(lambda: skip.rect["y"] >= 0)
    assert skip.text == "Skip to the content"
    skip.send_keys(Keys.ENTER)
    wait_until(lambda: chrome.switch_to.active_element.get_attribute("id") == "content")
    reached: list[str | None] = []
    while len(reached) < 100:
        keys.send_keys(Keys.TAB).perform()
        at = chrome.switch_to.active_element
        if at.tag_name == "body":  # past the end of the page
            break
        outline = "return getComputedStyle(arguments[0]).outlineStyle"
        assert look(chrome, outline, at) == "solid", at.get_attribute("outerHTML")
        reached.append(at.get_attribute("id") or at.text)
    assert reached.index("since") < reached.index("account") < reached.index("by")
    assert {"Show", "Values", "openai/gpt-4o-mini"} <= set(reached)


def test_tables_and_fields_have_names(chrome: webdriver.Chrome, served: Served) -> None:
    sign_in(chrome, served, "admin", f"?{RANGE}")
    for page in ("", "/requests", "/accounts"):
        chrome.get(f"{served[0]}{page}?{RANGE}")
        nameless = look(
            chrome,
            "return Array.from(document.querySelectorAll('table, input, select, img, svg'))"
            ".filter((it) => !(it.tagName === 'TABLE' ? it.caption || it.closest('.plot')"
            " : it.type === 'hidden' || it.ariaHidden || (it.labels && it.labels.length)))"
            ".map((it) => it.outerHTML)",
        )
        assert nameless == []
        assert len(chrome.find_elements(By.TAG_NAME, "h1")) == 1


@pytest.mark.parametrize("name", ["light", "dark"])
def test_colours_are_told_apart(chrome: webdriver.Chrome, served: Served, name: str) -> None:
    chrome.get(served[0])
    with scheme(chrome, name):
        found = {
            (one, other): contrast(variable(chrome, one), variable(chrome, other))
            for one, other, _ in CONTRASTS
        }
    assert {
        pair: ratio
        for (*pair_, least) in CONTRASTS
        if (ratio := found[pair := (pair_[0], pair_[1])]) < least
    } == {}
