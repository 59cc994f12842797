"""Usage as the overview shows it: the period before, by group."""

from app.dashboard.filters import Filters
from app.dashboard.usage_view import UsageView, read_usage
from app.ledger.reports.reader import UsageReader
from tests.dashboard.site import MIDNIGHT_S, DashboardSite, at


def view(site: DashboardSite, **query: str) -> UsageView:
    """Read the second day, which is compared with the first."""
    own = {"since": "2026-09-02", "until": "2026-09-02"}
    return read_usage(UsageReader(site.engine), Filters.load(own | query, MIDNIGHT_S + 10**6), None)


def test_groups_are_compared_with_themselves(site: DashboardSite) -> None:
    site.post(at(5, vendor="gone", model="m"))
    found = view(site, by="vendor")
    changes = {it.label: found.changes_of(it)["requests"] for it in found.groups}
    texts = {label: it.text if it else None for label, it in changes.items()}
    assert texts == {"anthropic": "new", "openai": "+0.0 %"}
    assert found.before.requests == 2


def test_groups_that_need_entries_have_no_figures_of_before(site: DashboardSite) -> None:
    found = view(site, by="status")
    assert found.before.requests == 1
    assert [found.changes_of(it) for it in found.groups] == [{}, {}]


def test_only_visible_accounts_are_read(site: DashboardSite) -> None:
    filters = Filters.load({"since": "2026-09-01", "until": "2026-09-02"}, MIDNIGHT_S + 10**6)
    found = read_usage(UsageReader(site.engine), filters, frozenset({"beta"}))
    assert found.total.requests == 1
