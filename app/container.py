"""The services of one web process. `create_app` constructs them; views get them by `services()`."""

from dataclasses import dataclass
from typing import cast

from flask import current_app
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.accounts.keyring import KeyRing
from app.accounts.sessions import Sessions
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.source import Reports
from app.observability.alarms import Alarms
from app.observability.backlog import BacklogCollector
from app.observability.budget_metrics import BudgetCollector
from app.observability.metrics.metrics import Metrics
from app.observability.refusals import Refusals
from app.pricing.live_prices import LivePrices
from app.pricing.price_book import PriceBook
from app.serving.circuit_breaker import CircuitBreaker
from app.serving.service import CompletionService
from app.settings import Settings
from app.tracing.trace_context import Tracing
from app.usage.recording.recorder import Recorder
from app.usage.redis.idempotency_keys import IdempotencyKeys
from app.usage.redis.stores import Stores
from app.vendors.table import VendorTable

EXTENSION = "tollgate"


@dataclass(frozen=True, slots=True)
class Services:
    """Stores, readers and clients that all requests of a process share."""

    settings: Settings
    vendors: VendorTable
    completions: CompletionService
    accounts: Accounts
    keyring: KeyRing
    sessions: Sessions
    usage_reader: UsageReader
    reports: Reports
    stores: Stores
    recorder: Recorder
    alarms: Alarms
    idempotency: IdempotencyKeys
    engine: Engine
    circuit_breaker: CircuitBreaker
    metrics: Metrics
    refusals: Refusals
    backlog: BacklogCollector
    budgets: BudgetCollector
    tracing: Tracing
    live_prices: LivePrices

    @property
    def prices(self) -> PriceBook:
        """The newest valid prices."""
        return self.live_prices.book

    def close(self) -> None:
        """Hand on what is only in memory, when no request is left; wait for that for seconds.

        Then close the connections to Redis and to the database, and end the threads.
        """
        self.refusals.close()
        self.recorder.close()
        self.keyring.close()
        self.stores.close()
        self.reports.close()
        self.completions.close()
        self.live_prices.close()


def services() -> Services:
    """Return the services of the app that serves this request."""
    return cast(Services, current_app.extensions[EXTENSION])
