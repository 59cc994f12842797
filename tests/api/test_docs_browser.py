"""The page of the API in headless Chromium: by mouse, by keyboard, on a phone, without scripts."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from werkzeug.serving import make_server

from app.sandbox.wsgi import app as sandbox
from app.settings import Settings
from tests.support.browser import scheme, violations, width_of
from tests.support.gateway import Gateway, running
from tests.support.services.polling import wait_until


@pytest.fixture
def gateway(settings: Settings) -> Iterator[Gateway]:
    """A Tollgate whose sandbox runs in threads of this process."""
    server = make_server("127.0.0.1", 0, sandbox, threaded=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    env = {**settings.env, "TOLLGATE_SANDBOX_URL": f"http://127.0.0.1:{server.port}/v1"}
    with running(replace(settings, env=env)) as gateway:
        yield gateway
    server.shutdown()


@pytest.fixture
def root(gateway: Gateway) -> str:
    return gateway.base_url.removesuffix("/v5")


@pytest.fixture
def page(chrome: webdriver.Chrome, root: str) -> webdriver.Chrome:
    chrome.get(f"{root}/docs")
    return chrome


def said(page: webdriver.Chrome, element_id: str) -> str:
    return page.find_element(By.ID, element_id).get_attribute("textContent") or ""


def send(page: webdriver.Chrome, key: str) -> None:
    field = page.find_element(By.ID, "try-key")
    field.clear()
    field.send_keys(key + Keys.ENTER)


def complaints(chrome: webdriver.Chrome) -> list[Any]:
    """What the browser complains of, except of answers that are errors, and of no icon."""
    logged = chrome.get_log("browser")  # type: ignore[no-untyped-call]
    return [it for it in logged if it["level"] == "SEVERE" and it["source"] != "network"]


def open_all(chrome: webdriver.Chrome) -> None:
    chrome.execute_script("for (const it of document.querySelectorAll('details')) it.open = 1")


def opened(page: webdriver.Chrome, css: str) -> bool:
    return bool(page.execute_script("return document.querySelector(arguments[0]).open", css))


@pytest.mark.parametrize("width", [390, 1440])
def test_what_is_long_is_folded(chrome: webdriver.Chrome, root: str, width: int) -> None:
    """Of a route, its sample is on the page; of an object, its name."""
    with width_of(chrome, width):
        chrome.get(f"{root}/docs")
        assert chrome.execute_script("return document.documentElement.scrollHeight") < 20_000
        sample = chrome.find_element(By.CSS_SELECTOR, "#createChatCompletion pre")
        assert "chat/completions" in sample.text
        assert not chrome.find_element(
            By.CSS_SELECTOR, "#createChatCompletion table"
        ).is_displayed()


def test_a_link_opens_what_it_leads_to(page: webdriver.Chrome, root: str) -> None:
    page.get(f"{root}/docs#Model")
    wait_until(lambda: opened(page, "#Model"))
    assert not opened(page, "#ModelList")
    answers = "#listModels details:has(a[href='#ModelList'])"
    page.execute_script("document.querySelector(arguments[0]).open = true", answers)
    link = page.find_element(By.CSS_SELECTOR, f"{answers} a[href='#ModelList']")
    for _ in range(2):  # also when it was closed again
        page.execute_script("document.getElementById('ModelList').open = false")
        page.execute_script("arguments[0].click()", link)
        wait_until(lambda: opened(page, "#ModelList"))
    assert complaints(page) == []


def test_all_is_opened_at_once_and_by_keyboard(page: webdriver.Chrome) -> None:
    summary = page.find_element(By.CSS_SELECTOR, "#createCompletion details > summary")
    summary.send_keys(Keys.ENTER)
    assert opened(page, "#createCompletion details")
    button = page.find_element(By.ID, "unfold")
    button.send_keys(Keys.ENTER)
    assert button.text == "Close all sections"
    left = "return document.querySelectorAll('details:not([open])').length"
    assert page.execute_script(left) == 0
    button.click()
    assert button.text == "Open all sections"
    assert not opened(page, "#Model")


def test_tabs_show_one_language_by_mouse_and_by_keyboard(page: webdriver.Chrome) -> None:
    group = page.find_element(By.CSS_SELECTOR, "#quickstart [data-tabs]")
    tabs = group.find_elements(By.CSS_SELECTOR, "[role=tab]")
    assert [tab.text for tab in tabs] == ["curl", "Python", "Node"]

    def shown() -> list[str | None]:
        panels = group.find_elements(By.CSS_SELECTOR, "[role=tabpanel]")
        return [panel.get_attribute("data-tab") for panel in panels if panel.is_displayed()]

    assert shown() == ["curl"]
    tabs[2].click()
    assert shown() == ["Node"]
    tabs[2].send_keys(Keys.ARROW_RIGHT)
    assert shown() == ["curl"]
    assert page.switch_to.active_element == tabs[0]
    tabs[0].send_keys(Keys.END)
    assert shown() == ["Node"]
    assert complaints(page) == []


def test_a_sample_is_copied_as_it_stands_with_the_pages_own_address(
    page: webdriver.Chrome, root: str
) -> None:
    page.execute_cdp_cmd(
        "Browser.grantPermissions",
        {"origin": root, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]},
    )
    button = page.find_element(By.CSS_SELECTOR, "#quickstart .copy")
    button.click()
    wait_until(lambda: button.text == "Copied")
    read = "navigator.clipboard.readText().then(arguments[arguments.length - 1])"
    copied = page.execute_async_script(read)
    assert copied.startswith(f'export OPENAI_BASE_URL="{root}/v5"\n')


@pytest.mark.parametrize("place", ["chat", "text"])
@pytest.mark.parametrize("stream", [True, False])
def test_the_box_shows_an_answer_and_what_it_cost(
    page: webdriver.Chrome, gateway: Gateway, place: str, stream: bool
) -> None:
    Select(page.find_element(By.ID, "try-place")).select_by_value(place)
    if not stream:
        page.find_element(By.ID, "try-stream").click()
    send(page, gateway.api_key)
    wait_until(lambda: not page.find_element(By.ID, "try-stop").is_enabled())
    wait_until(lambda: said(page, "try-text") == "Say this is a test")
    assert said(page, "try-status").startswith("HTTP 200")
    assert "x-request-id: req_" in said(page, "try-status")
    raw = said(page, "try-raw")
    assert ("event: done" in raw) is stream
    assert '"cost":' in raw
    assert complaints(page) == []


def test_a_failure_is_shown_in_the_apis_words(page: webdriver.Chrome) -> None:
    send(page, "tg_" + "x" * 43)
    wait_until(lambda: said(page, "try-status").startswith("HTTP 401"))
    wait_until(lambda: "API key" in said(page, "try-text"))


def test_a_stream_that_breaks_off_has_failed_and_its_id_stays(
    page: webdriver.Chrome, gateway: Gateway
) -> None:
    model = page.find_element(By.ID, "try-model")
    model.clear()
    model.send_keys("sandbox/echo?words=9&cut_after=2")
    send(page, gateway.api_key)
    wait_until(lambda: "The stream failed: " in said(page, "try-status"))
    assert said(page, "try-status").startswith("HTTP 200 · x-request-id: req_")
    wait_until(lambda: not page.find_element(By.ID, "try-stop").is_enabled())
    assert "network error" not in said(page, "try-status")


def test_the_answer_is_on_the_screen(page: webdriver.Chrome) -> None:
    """The box opens below its button, which a reader may have at the window's lower edge."""
    button = page.find_element(By.CSS_SELECTOR, "#try-form .primary")
    page.execute_script("arguments[0].scrollIntoView({block: 'end'})", button)
    send(page, "tg_none")
    wait_until(lambda: "401" in said(page, "try-status"))
    script = "return arguments[0].getBoundingClientRect().bottom <= innerHeight"
    assert page.execute_script(script, page.find_element(By.ID, "try-text"))


def test_a_page_has_the_colours_of_the_scheme(chrome: webdriver.Chrome, root: str) -> None:
    def background(path: str) -> str:
        chrome.get(f"{root}{path}")
        script = "return getComputedStyle(document.body).backgroundColor"
        return str(chrome.execute_script(script))

    for name in ("light", "dark"):
        with scheme(chrome, name):
            assert background("/") == background("/docs") == background("/docs/errors")
    with scheme(chrome, "light"):
        light = background("/")
    with scheme(chrome, "dark"):
        assert background("/") != light


@pytest.mark.parametrize(
    ("path", "width", "names"),
    [
        ("/docs", 1440, "td.kind a, th code"),
        ("/docs/errors", 1440, "h2 code"),
        ("/docs/errors", 390, "h2 code"),
    ],
)
def test_no_name_is_broken_over_lines(
    chrome: webdriver.Chrome, root: str, path: str, width: int, names: str
) -> None:
    with width_of(chrome, width):
        chrome.get(f"{root}{path}")
        open_all(chrome)
        script = (
            "return Array.from(document.querySelectorAll(arguments[0]))"
            "  .map((it) => [it.textContent, it.getClientRects().length])"
        )
        lines = chrome.execute_script(script, names)
        assert lines
        assert [it for it in lines if it[1] > 1] == []


def test_a_stream_can_be_stopped(page: webdriver.Chrome, gateway: Gateway) -> None:
    model = page.find_element(By.ID, "try-model")
    model.clear()
    model.send_keys("sandbox/echo?words=500&delay_ms=50")
    send(page, gateway.api_key)
    wait_until(lambda: said(page, "try-text"))
    page.find_element(By.ID, "try-stop").click()
    wait_until(lambda: said(page, "try-status") == "Stopped.")
    send(page, gateway.api_key)
    wait_until(lambda: said(page, "try-status").startswith("HTTP 200"))


def test_the_key_is_nowhere_but_in_its_field(page: webdriver.Chrome, gateway: Gateway) -> None:
    """Neither in the address, nor stored, nor there again when the page comes back."""
    send(page, gateway.api_key)
    wait_until(lambda: said(page, "try-text") == "Say this is a test")
    kept = "return [location.href, document.cookie, ...Object.values(localStorage),"
    kept += " ...Object.values(sessionStorage), document.documentElement.outerHTML].join()"
    assert gateway.api_key not in page.execute_script(kept)
    page.find_element(By.LINK_TEXT, "Errors").click()
    wait_until(lambda: page.current_url.endswith("/docs/errors"))
    page.back()
    wait_until(lambda: page.find_elements(By.ID, "try-key"))
    assert page.find_element(By.ID, "try-key").get_attribute("value") == ""


def test_without_scripts_every_sample_is_there(chrome: webdriver.Chrome, root: str) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    chrome.get(f"{root}/docs")
    for name in ("start-curl", "start-python", "start-node"):
        assert chrome.find_element(By.ID, name).is_displayed()
    assert not chrome.find_element(By.ID, "try-form").is_displayed()
    assert chrome.find_elements(By.CSS_SELECTOR, "[role=tab], .copy") == []
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("path", ["/", "/docs", "/docs/errors"])
@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(
    chrome: webdriver.Chrome, root: str, axe: str, path: str, name: str, width: int
) -> None:
    with scheme(chrome, name), width_of(chrome, width):
        chrome.get(f"{root}{path}")
        open_all(chrome)
        assert violations(chrome, axe) == []
        script = "return document.documentElement.scrollWidth <= innerWidth"
        assert chrome.execute_script(script)
        assert complaints(chrome) == []
