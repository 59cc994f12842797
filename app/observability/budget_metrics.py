"""How many budgets are nearly spent, read from the ledger at each scrape; never whose they are."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.accounts.accounts import Accounts
from app.ledger.reports.allowances import STATES, read_allowances
from app.ledger.reports.reader import UsageReader
from app.vocabulary.errors import LedgerUnavailable


@dataclass(frozen=True, slots=True)
class BudgetCollector(Collector):
    """Counts the budgets of accounts and keys by state; nothing while the ledger is unavailable."""

    accounts: Accounts
    usage_reader: UsageReader

    def describe(self) -> Iterator[Metric]:
        """Yield the family without values."""
        yield _family()

    def collect(self) -> Iterator[Metric]:
        """Yield the current numbers."""
        family = _family()
        try:
            limits = [it for it in self.accounts.list_limits() if it.has_budget]
            found = read_allowances(self.usage_reader, limits, None, int(time.time() * 1000))
        except LedgerUnavailable:  # `tollgate_ledger_up` tells it
            return
        states = Counter(allowance.state for allowance in found.values())
        for state in STATES:
            family.add_metric([state], states[state])
        yield family


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "tollgate_budgets",
        "Accounts and keys with a budget: over (spent), near (from the soft bound or 80 %), ok.",
        labels=["state"],
    )
