"""Ledgers to be invoiced: a month of requests, its prices, and its invoice."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import Engine

from app.ledger.invoices.invoice import Invoice, InvoiceReader
from app.ledger.invoices.lines import GroupBy, merged
from app.ledger.invoices.month import Month
from app.ledger.invoices.origin import Completeness, read_origin
from app.pricing.price_book import PriceBook, load_prices
from app.usage.messages.event import UsageEvent
from app.vocabulary.completion import USAGE_COUNTS, Usage
from app.vocabulary.request import ENDPOINTS
from tests.support.events import usage_event

NOVEMBER = Month(2026, 11)
#: A day after the month, so that it has ended in every time zone.
COMPLETE = Completeness(until_ms=(NOVEMBER.end_s + 86_400) * 1000.0)
#: Dear enough that a request costs cents; `long` changes with the prompt, `m` in the month.
PRICES = """
[[prices]]
model = "openai/m"
input = 1_000
output = 3_000.5

[[prices]]
model = "openai/m"
from = 2026-11-16
input = 900
cached = 90
output = 2_700

[[prices]]
model = "openai/long"
input = [[0, 1_250], [1_000, 2_500]]
cached = 7
cache_write = 11
input_audio = 13
cached_audio = 3
output = [[0, 10], [1_000, 15]]
reasoning = 17
output_audio = 19
cache_write_1h = 23
input_image = 29
cached_image = 5
output_image = [[0, 31], [1_000, 37]]
web_search = 41
"""


def book(folder: Path) -> PriceBook:
    """Return the price book of PRICES."""
    path = folder / "prices.toml"
    path.write_text(PRICES)
    return load_prices(path)


def request(day: float = 1, **changes: Any) -> UsageEvent:
    """Return a request of `acme` for `openai/m`, that many days after October."""
    model = changes.get("model", "m")
    at_ms = int((NOVEMBER.start_s + (day - 1) * 86_400) * 1000)
    known = {"account_id": "acme", "model": model, "model_served": model, "started_at_ms": at_ms}
    return usage_event(**known | changes)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Draw counts, also such as vendors contradict themselves with."""
    prompt, completion = draw(st.integers(0, 3_000)), draw(st.integers(0, 500))
    parts = {
        name: draw(st.integers(0, most))
        for name, most in (
            ("cached_tokens", prompt + 5),
            ("cache_write_tokens", prompt // 2),
            ("audio_prompt_tokens", prompt),
            ("reasoning_tokens", completion + 5),
            ("audio_completion_tokens", completion // 2),
            ("cache_write_1h_tokens", prompt // 4),
            ("image_prompt_tokens", prompt),
            ("image_completion_tokens", completion // 3),
            ("web_search_calls", 2),
        )
    }
    total = prompt + completion
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=total, **parts)


@st.composite
def requests(draw: st.DrawFn) -> list[UsageEvent]:
    """Draw requests of a few accounts, keys and models in November, and a little outside."""
    usage = draw(st.lists(usages(), min_size=1, max_size=25))
    return [
        request(
            draw(st.floats(0.9, 31.1)),
            account_id=draw(st.sampled_from(["acme", "beta"])),
            api_key_id=draw(st.sampled_from(["key_1", "key_2"])),
            endpoint=draw(st.sampled_from(ENDPOINTS)),
            model=draw(st.sampled_from(["m", "long", "new"])),
            status=draw(st.sampled_from(["completed", "failed"])),
            source=draw(st.sampled_from(["vendor", "estimated"])),
            **{name: getattr(it, name) for name in USAGE_COUNTS},
        )
        for it in usage
    ]


def invoice_of(
    engine: Engine,
    account_id: str = "acme",
    month: Month = NOVEMBER,
    completeness: Completeness = COMPLETE,
    *,
    by: Sequence[GroupBy] = (),
) -> Invoice:
    """Return an invoice that is read when its month is over."""
    reader = InvoiceReader(engine)
    steps = reader.steps(month)
    lines = merged(it for step in steps for it in reader.lines(account_id, step, by=by))
    return Invoice(
        account_id=account_id,
        account_name=account_id,
        month=month,
        read_at_s=month.end_s + 60,
        lines=tuple(lines),
        totals=reader.totals(account_id, month),
        origin=read_origin(engine, account_id, month, completeness),
    )
