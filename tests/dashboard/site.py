"""The dashboard without a server, over a ledger of few, known requests."""

import re
from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient
from msgspec.structs import replace
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from app.accounts.accounts import Accounts
from app.container import EXTENSION
from app.factory import create_app
from app.ledger.posting import Ledger
from app.pricing.price import EffectivePeriod, Price, PriceHistory, complete_rates
from app.pricing.price_book import UNKNOWN, PriceBook
from app.settings import Settings
from app.usage.messages.event import UsageEvent
from app.vocabulary.money import NANO
from tests.support.events import usage_event

#: Midnight, 2026-09-01 UTC; the known requests are of this day and the next.
MIDNIGHT_S = 1_788_220_800
RANGE = {"since": "2026-09-01", "until": "2026-09-30"}

#: Dollars a thousand tokens of gpt-4o-mini: 1 for the prompt's and 2 for the completion's.
_RATES = complete_rates({"input": 1000 * NANO, "output": 2000 * NANO})
_KNOWN = PriceHistory(((EffectivePeriod(), Price("mini", ((-1, _RATES),))),))
PRICES = PriceBook(lambda _, models, _tier: _KNOWN if "gpt-4o-mini" in models else UNKNOWN)


@dataclass
class DashboardSite:
    """Accounts `acme` and `beta`; a key of each kind; `key_ids` by the same names."""

    client: FlaskClient
    engine: Engine
    keys: dict[str, str]
    key_ids: dict[str, str]
    host: str = "http://localhost"

    @property
    def accounts(self) -> Accounts:
        """The accounts and keys of its ledger."""
        return Accounts(self.engine)

    def post(self, *events: UsageEvent) -> None:
        """Put events into the ledger."""
        Ledger(self.engine, PRICES).post(events)

    def sign_in(self, kind: str, **form: str) -> TestResponse:
        """Sign in with one of the keys."""
        form = {"api_key": self.keys[kind]} | form
        return self.client.post("/dashboard/sign-in", data=form, base_url=self.host)

    def get(self, page: str = "", **query: Any) -> TestResponse:
        """Get a page, of the known range unless it is said otherwise."""
        return self.client.get(f"/dashboard{page}", query_string=RANGE | query, base_url=self.host)

    def page(self, page: str = "", **query: Any) -> str:
        """Return a page that must be there, its white space made one."""
        response = self.get(page, **query)
        assert response.status_code == 200, response.text
        return re.sub(r"\s+", " ", response.text)

    def close(self) -> None:
        """Let go of the ledger."""
        self.client.application.extensions[EXTENSION].close()
        self.engine.dispose()


def at(second: int, **changes: Any) -> UsageEvent:
    """Return an event of `acme`, so many seconds after MIDNIGHT_S."""
    started_at_ms = (MIDNIGHT_S + second) * 1000
    return usage_event(**({"account_id": "acme", "started_at_ms": started_at_ms} | changes))


def known_events() -> list[UsageEvent]:
    """Return three requests of `acme`, one of them failed, and one of `beta`.

    Those of `acme` cost $1.40, and what nobody knows.
    """
    mini: dict[str, Any] = {"vendor": "openai", "model": "gpt-4o-mini"}
    haiku: dict[str, Any] = {"vendor": "anthropic", "model": "claude-haiku-4-5"}
    haiku["vendor_served"] = "anthropic"
    failed: dict[str, Any] = {"status": "failed", "source": "none", "http_status": 503}
    failed["first_token_ms"] = None
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return [
        at(60, **mini, prompt_tokens=1000, completion_tokens=200, total_tokens=1200),
        at(90_000, **haiku, prompt_tokens=300, completion_tokens=45, total_tokens=345),
        at(90_060, **haiku, **failed, **nothing),
        at(90_120, **mini, account_id="beta", request_id="req_of_beta", total_tokens=5),
    ]


def make_site(settings: Settings) -> DashboardSite:
    """Return the dashboard over the ledger that the settings name, with the known requests."""
    app = create_app(settings)
    engine = app.extensions[EXTENSION].engine
    accounts = Accounts(engine)
    for account_id in ("acme", "beta"):
        accounts.create(account_id, f"The {account_id} team")
    made = {
        "admin": accounts.create_key([], ["admin"], "ops"),
        "usage": accounts.create_key(["acme"], ["usage"], "report"),
        "completions": accounts.create_key(["acme", "beta"], ["completions"], "production"),
        "beta": accounts.create_key(["beta"], ["usage"], "of beta"),
    }
    keys = {name: secret for name, (_, secret) in made.items()}
    key_ids = {name: key.key_id for name, (key, _) in made.items()}
    site = DashboardSite(app.test_client(), engine, keys | {"wrong": "tg_" + "x" * 43}, key_ids)
    site.post(*(replace(it, api_key_id=key_ids["completions"]) for it in known_events()))
    return site


def shown(page: str, element_id: str) -> str:
    """The text of an element."""
    found = re.search(rf'id="{element_id}"[^>]*>(.*?)</(?:dd|span)>', page)
    assert found, element_id
    return plain(found[1])


def table(page: str, table_id: str) -> list[list[str]]:
    """The cells of a table's body and foot, as text."""
    found = re.search(rf'<table id="{table_id}"[^>]*>.*?</thead>(.*?)</table>', page)
    assert found, table_id
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", found[1])
    return [[plain(cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)] for row in rows]


def plain(html: str) -> str:
    return re.sub(
        r"\s+", " ", re.sub(r"<[^>]*>", "", html.replace("<br>", " ")).replace("&nbsp;", " ")
    ).strip()
