"""A web process without a server, over a ledger of the test's own."""

from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from app.accounts.accounts import Accounts
from app.container import EXTENSION
from app.factory import create_app
from app.ledger.posting import Ledger
from app.pricing.price_book import NO_PRICES, PriceBook
from app.settings import Settings
from app.usage.messages.event import UsageEvent
from tests.support.events import usage_event

HOUR_S = 3_600
DAY_S = 86_400
#: Midnight, 2026-09-01 UTC.
MIDNIGHT_S = 1_788_220_800

USAGE = "/v5/organization/usage/completions"
COSTS = "/v5/organization/costs"


@dataclass
class Site:
    """A web process; accounts `acme`, `Acme` and `beta`; a key of each kind."""

    client: FlaskClient
    engine: Engine
    keys: dict[str, str]
    prices: PriceBook = NO_PRICES
    path: str = USAGE

    def post(self, *events: UsageEvent) -> None:
        """Put events into the ledger."""
        Ledger(self.engine, self.prices).post(events)

    def get(self, query: Any, key: str = "admin") -> TestResponse:
        """Ask for usage with one of the keys."""
        headers = {"x-api-key": self.keys[key]}
        return self.client.get(self.path, query_string=query, headers=headers)

    def page(self, key: str = "admin", **query: Any) -> dict[str, Any]:
        """Return a page that must be there."""
        response = self.get(query, key)
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.get_json()
        return body

    def close(self) -> None:
        """Let go of the ledger."""
        self.client.application.extensions[EXTENSION].close()
        self.engine.dispose()

    def pages(self, **query: Any) -> list[dict[str, Any]]:
        """Return every bucket, page after page."""
        page = self.page(**query)
        found: list[dict[str, Any]] = page["data"]
        while page["has_more"]:
            page = self.page(**query, page=page["next_page"])
            found += page["data"]
        assert page["next_page"] is None
        return found


def make_site(settings: Settings) -> Site:
    """Return a site on the ledger that the settings name."""
    app = create_app(settings)
    engine = app.extensions[EXTENSION].engine
    accounts = Accounts(engine)
    for account_id in ("acme", "Acme", "beta"):
        accounts.create(account_id, account_id)
    keys = {
        "admin": accounts.create_key([], ["admin"])[1],
        "usage": accounts.create_key(["acme", "Acme"], ["usage"])[1],
        "completions": accounts.create_key(["acme"], ["completions"])[1],
        "none": "",
        "wrong": "tg_" + "x" * 43,
    }
    return Site(app.test_client(), engine, keys)


def at(time_s: float, **changes: Any) -> UsageEvent:
    """Return an event of `acme` that started then."""
    return usage_event(**({"account_id": "acme", "started_at_ms": int(time_s * 1000)} | changes))


def results(buckets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of all buckets."""
    return [result for bucket in buckets for result in bucket["results"]]


def tokens(buckets: list[dict[str, Any]]) -> int:
    """Return the sum of input and output tokens."""
    return sum(result["input_tokens"] + result["output_tokens"] for result in results(buckets))


def spans(buckets: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Return the start and end of each bucket."""
    return [(bucket["start_time"], bucket["end_time"]) for bucket in buckets]
