"""An invoice for people."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from sqlalchemy import Engine

from app.cli.invoice_page import as_html
from app.ledger.invoices.invoice import Invoice
from app.ledger.posting import Ledger
from app.ledger.retention import prune
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.ledger.invoices.events import NOVEMBER, book, invoice_of, request

SCRIPT = "<script>document.title = 'run'</script>"


@pytest.fixture
def invoice(engine: Engine, tmp_path: Path) -> Invoice:
    """An invoice with a line of every kind, and names that are markup."""
    usage = Usage(prompt_tokens=3, total_tokens=3)
    calls = tuple(CallUsage.of("openai", it, it, None, usage) for it in ("m", "long"))
    Ledger(engine, book(tmp_path)).post(
        [
            request(1),
            request(20, source="estimated"),
            request(5, model="long", prompt_tokens=123_456_789, completion_tokens=0),
            request(5, model=f"new{SCRIPT}"),
            request(5, calls=calls),
        ]
    )
    list(prune(engine, NOVEMBER.start_s + 86_400))
    return replace(invoice_of(engine), account_name=f"Acme {SCRIPT}")


def test_a_page_needs_nothing_else_and_escapes_names(invoice: Invoice) -> None:
    page = as_html(invoice)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 2
    assert not re.search(r"(?:src|href)=|url\(|@import|https?://", page)
    for text in (
        "<h1>Invoice 2026-11</h1>",
        "2026-11-01 to 2026-11-30 (UTC)",
        "123,456,789",
        "prompts of more than 1,000 tokens",
        "several vendor calls per request",
        "requests deleted, totals kept",
        "no known price",
        "~1 estimated",
        "$308,641.97",
    ):
        assert text in page
    assert "Draft" not in page


def test_a_draft_says_so_and_an_empty_month_has_a_total_of_0(engine: Engine) -> None:
    page = as_html(replace(invoice_of(engine), read_at_s=NOVEMBER.start_s + 1))
    assert "<h1>Draft invoice 2026-11</h1>" in page
    assert "2026-11 has not ended." in page
    assert "No request used any tokens in this month." in page
    assert "$0.00" in page


@pytest.mark.parametrize("width", [390, 1440])
def test_a_browser_shows_the_whole_page_at_any_width(
    browser: webdriver.Chrome,
    invoice: Invoice,
    tmp_path: Path,
    width: int,
) -> None:
    path = tmp_path / "invoice.html"
    path.write_text(as_html(invoice))
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())
    assert browser.title.startswith("Invoice 2026-11")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    amounts = browser.find_elements(By.CSS_SELECTOR, "tbody .amount, tfoot .amount")
    assert len(amounts) == 6
    assert all(it.is_displayed() and it.rect["x"] + it.rect["width"] <= width for it in amounts)
