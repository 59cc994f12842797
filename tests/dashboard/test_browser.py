"""The dashboard in headless Chromium: signing in, filtering, reading, by mouse and by keyboard."""

import time
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from app.ledger.latencies import compute_latencies
from app.vocabulary.money import NANO
from tests.dashboard.site import DashboardSite, at
from tests.support.browser import scheme, violations, width_of
from tests.support.events import usage_event
from tests.support.services.polling import wait_until

RANGE = "since=2026-09-01&until=2026-09-30"

Served = tuple[str, DashboardSite]

#: Text on its background, and what must be told from what it lies on, with the least contrast.
CONTRASTS = [
    *(
        (text, page, 4.5)
        for text in ("text", "faint", "link", "bad", "warn")
        for page in ("card", "page", "hover")
    ),
    *((state, f"{state}-page", 4.5) for state in ("bad", "warn", "good")),
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
    """The colors of the charts' bars."""
    fills = look(
        chrome,
        "return Array.from(document.querySelectorAll('.plot .bars [class^=series]'),"
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


def test_an_admin_signs_in_filters_and_signs_out(chrome: webdriver.Chrome, served: Served) -> None:
    compute_latencies(served[1].engine, time.time())
    sign_in(chrome, served, "admin", f"?{RANGE}")
    assert said(chrome, "requests") == "4"
    assert said(chrome, "cost") == "$1.41 +"
    assert first_cells(chrome, "groups") == ["openai/gpt-4o-mini", "anthropic/claude-haiku-4-5"]

    Select(chrome.find_element(By.ID, "account")).select_by_visible_text("acme")
    chrome.find_element(By.CSS_SELECTOR, ".fields button").click()
    wait_until(lambda: "account=acme" in chrome.current_url)
    chrome.find_element(By.LINK_TEXT, "Vendor").click()
    wait_until(lambda: "by=vendor" in chrome.current_url)
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


def test_a_bar_has_its_time_its_series_and_its_values(
    chrome: webdriver.Chrome, served: Served
) -> None:
    """The browser shows them when the pointer rests on the bar."""
    sign_in(chrome, served, "admin", f"?{RANGE}&by=account")
    titles = chrome.find_elements(By.CSS_SELECTOR, "#tokens-title ~ .plot g title")
    assert [it.get_attribute("textContent") for it in titles[:3]] == [
        "2026-09-01\nThe acme team: 1,200",
        "2026-09-02\n350 in all\nThe acme team: 345\nThe beta team: 5",
        "2026-09-03\n0 in all",
    ]
    size = chrome.find_element(By.CSS_SELECTOR, ".plot .series-1").size
    assert size["width"] > 1
    assert size["height"] > 1


ADMIN = ["/admin", "/admin/audit", "/admin/create-key", "/admin/set-limits?account=acme"]
PAGES = ["", "?by=user", "/requests", "/requests/req_of_beta", "/accounts", "/time-zone", *ADMIN]
LONG = "a-long-name-" + "x" * 188
#: Cells and other text outside of the window, or hidden behind another's edge, with their place.
OFF_SCREEN = """
return Array.from(document.querySelectorAll('td, tbody th, tfoot th, dd, h1, h2, .legend li, a'))
  .filter((it) => it.checkVisibility() && !it.closest('.skip'))
  .map((it) => [it.getBoundingClientRect(), it])
  .filter(([box]) => box.left < -0.5 || box.right > innerWidth + 0.5 || box.width < 1)
  .map(([box, it]) => [it.outerHTML.slice(0, 80), box.left, box.right])
"""


@pytest.mark.parametrize("width", [390, 768, 1024, 1440, 1920])
def test_nothing_is_hidden_by_the_width_of_the_window(
    chrome: webdriver.Chrome, served: Served, width: int
) -> None:
    site = served[1]
    long = {"model": LONG, "request_id": LONG, "user": LONG, "vendor_request_id": LONG}
    site.post(at(70, vendor="openai", api_key_id=LONG, **long))
    site.accounts.create("b" * 64, LONG)
    site.accounts.create_key(["b" * 64], ["completions"], LONG)
    site.accounts.set_limits("account", "b" * 64, budget_nanousd=9_000_000 * NANO)
    with width_of(chrome, width):
        sign_in(chrome, served, "admin", f"?{RANGE}")
        for page in (*PAGES, f"/requests/{LONG}", f"?model=openai/{LONG}&user={LONG}"):
            mark = "&" if "?" in page else "?"
            chrome.get(f"{served[0]}{page}{mark}{RANGE}")
            assert look(chrome, "return document.documentElement.scrollWidth") <= width, page
            assert look(chrome, OFF_SCREEN) == [], page
        chrome.get(f"{served[0]}/requests?{RANGE}")
        shortened = chrome.find_element(By.CSS_SELECTOR, f'#list code[title="{LONG}"]')
        # All of a shortened id is on the page, where it can be selected and copied.
        assert shortened.get_attribute("textContent") == LONG


def test_a_card_leaves_out_what_is_blank(chrome: webdriver.Chrome, served: Served) -> None:
    served[1].accounts.create_key(["acme"], ["completions"])  # has no name
    blank = "return Array.from(document.querySelectorAll('.cards td > div:not(:has(svg))'))"
    blank += ".filter((it) => !it.textContent.trim() && it.checkVisibility()).length"
    sign_in(chrome, served, "admin", "")
    for page in ("/accounts", "/admin", "/admin/audit"):
        chrome.get(f"{served[0]}{page}")
        assert look(chrome, blank) > 0, page
        with width_of(chrome, 390):
            assert look(chrome, blank) == 0, page


@pytest.mark.parametrize("name", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(
    chrome: webdriver.Chrome, served: Served, axe: str, name: str
) -> None:
    served[1].accounts.set_limits("account", "acme", budget_nanousd=NANO)
    with scheme(chrome, name):
        chrome.get(f"{served[0]}/sign-in")
        assert violations(chrome, axe) == []
        sign_in(chrome, served, "admin", f"?{RANGE}")
        for width in (390, 1440):
            with width_of(chrome, width):
                others = ("/requests/nothing", "/accounts?find=acme", "/admin?find=nosuch")
                for page in (*PAGES, "?since=2020-01-01&until=2020-01-02", *others):
                    mark = "&" if "?" in page else "?"
                    query = "" if "since" in page else f"{mark}{RANGE}"
                    chrome.get(f"{served[0]}{page}{query}")
                    open_all = "document.querySelectorAll('details').forEach((it) => it.open = 1)"
                    look(chrome, open_all)
                    assert violations(chrome, axe) == [], page


#: Whether the page refreshes itself, also while the next page is loading.
STATE = "return document.querySelector('#refresh-state')?.textContent ?? ''"


def test_figures_refresh_in_place_until_they_are_paused(
    chrome: webdriver.Chrome, served: Served
) -> None:
    """Neither focus, nor scroll position, nor an open list of values changes."""
    root, site = served
    site.post(usage_event(started_at_ms=time.time_ns() // 10**6, model="now"))
    sign_in(chrome, served, "admin", "?range=24h")
    assert said(chrome, "requests") == "1"
    look(chrome, "document.querySelector('#tokens-values').open = true; scrollTo(0, 400)")
    focused = chrome.find_element(By.LINK_TEXT, "7 days")
    look(chrome, "arguments[0].focus({preventScroll: true})", focused)

    site.post(usage_event(started_at_ms=time.time_ns() // 10**6, model="now"))
    look(chrome, "refresh()")
    number = "return document.querySelector('#requests').textContent"
    wait_until(lambda: look(chrome, number) == "2")
    assert look(chrome, "return document.querySelector('#tokens-values').open")
    assert look(chrome, "return scrollY") == 400
    assert chrome.switch_to.active_element == focused

    chrome.find_element(By.CSS_SELECTOR, ".refresh button").click()
    wait_until(lambda: "Paused" in look(chrome, STATE))
    site.post(usage_event(started_at_ms=time.time_ns() // 10**6, model="now"))
    look(chrome, "document.querySelector('#requests').textContent = 'old'; return refresh()")
    assert said(chrome, "requests") == "old"
    chrome.get(f"{root}?range=7d")
    assert said(chrome, "requests") == "3"
    assert "Paused" in said(chrome, "refresh-state")
    assert complaints(chrome) == []


def test_a_page_prints_in_light_colours_without_what_can_only_be_clicked(
    chrome: webdriver.Chrome, served: Served
) -> None:
    with scheme(chrome, "dark"):
        sign_in(chrome, served, "admin", f"?{RANGE}")
        chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        try:
            assert variable(chrome, "card") == (255, 255, 255)
            assert not chrome.find_element(By.CLASS_NAME, "sign-out").is_displayed()
            assert chrome.find_element(By.CSS_SELECTOR, ".plot .bars").is_displayed()
            with width_of(chrome, 700):  # a sheet of paper's, where screens have cards
                assert chrome.find_element(By.CSS_SELECTOR, "#groups thead").size["width"] > 300
        finally:
            chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_without_javascript_every_figure_is_there(chrome: webdriver.Chrome, served: Served) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    sign_in(chrome, served, "usage", f"?{RANGE}&by=account")
    assert said(chrome, "requests") == "3"
    assert first_cells(chrome, "groups") == ["acme The acme team"]
    chrome.find_element(By.CSS_SELECTOR, "#tokens-values summary").click()
    cells = chrome.find_elements(By.CSS_SELECTOR, "#tokens-series td.number")
    assert [cell.text for cell in cells[:3]] == ["1,200", "345", "0"]
    assert chrome.find_elements(By.CSS_SELECTOR, ".plot .series-1")


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
    assert reached.index("since") < reached.index("account") < reached.index("status")
    assert {"7 days", "Account", "Show", "openai/gpt-4o-mini"} <= set(reached)


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
