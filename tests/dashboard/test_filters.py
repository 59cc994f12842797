"""The filters of a page: ranges of days, and the query of the ledger."""

from datetime import date

import pytest

from app.dashboard.filters import DAY_S, DAYS_LIMIT, DEFAULT_DAYS, HOUR_S, Filters
from app.vocabulary.errors import AccountNotAllowed, InvalidRequest

#: 2026-09-15 12:00 UTC.
NOW_S = 1_789_473_600.0


def load(**args: str) -> Filters:
    """Parse a query string at NOW_S."""
    return Filters.load(args, NOW_S)


def test_without_filters_the_last_days_are_shown() -> None:
    filters = load()
    assert (filters.since, filters.until) == (date(2026, 8, 17), date(2026, 9, 15))
    assert filters.end_s - filters.start_s == DEFAULT_DAYS * DAY_S
    assert filters.bucket_s == DAY_S


def test_a_range_includes_both_of_its_days() -> None:
    filters = load(since="2026-09-01", until="2026-09-02")
    assert filters.end_s - filters.start_s == 2 * DAY_S
    assert filters.bucket_s == HOUR_S


def test_the_longest_range_is_accepted_and_no_longer_one() -> None:
    assert load(since="2025-09-15", until="2026-09-15").bucket_s == DAY_S
    with pytest.raises(InvalidRequest, match=str(DAYS_LIMIT)) as caught:
        load(since="2025-09-14", until="2026-09-15")
    assert caught.value.param == "until"


@pytest.mark.parametrize(
    ("args", "param"),
    [
        ({"since": "yesterday"}, "since"),
        ({"until": "1969-12-31"}, "until"),
        ({"until": "9999-01-01"}, "until"),
        ({"since": "2026-09-16"}, "until"),
        ({"by": "user"}, "by"),
        ({"model": "gpt-4o"}, "model"),
        ({"model": "/m"}, "model"),
        ({"vendor": "a\0"}, None),
    ],
)
def test_an_invalid_filter_is_named(args: dict[str, str], param: str | None) -> None:
    with pytest.raises(InvalidRequest) as caught:
        load(**args)
    assert caught.value.param == param


def test_filters_become_the_ledgers_query() -> None:
    filters = load(account="acme", vendor="openai", model="openai/m", by="account")
    query = filters.query(None)
    assert query.account_ids == frozenset({"acme"})
    assert (query.vendors, query.models) == (frozenset({"openai"}), frozenset({"openai/m"}))
    assert (query.group_by, query.bucket_s) == (("account",), None)
    assert load().query(None, over_time=True).bucket_s == DAY_S


def test_only_visible_accounts_are_queried() -> None:
    visible = frozenset({"acme", "beta"})
    assert load().query(visible).account_ids == visible
    assert load(account="beta").query(visible).account_ids == frozenset({"beta"})
    with pytest.raises(AccountNotAllowed):
        load(account="other").query(visible)


def test_a_link_keeps_the_filters_that_it_does_not_change() -> None:
    filters = load(since="2026-09-01", until="2026-09-02", account="a&b", by="vendor")
    changed = filters.url_query(account="", vendor="openai")
    assert changed == "since=2026-09-01&until=2026-09-02&vendor=openai&by=vendor"


def test_common_ranges_end_today() -> None:
    ranges = load(until="2026-01-01").ranges
    assert ranges["Today"] == {"since": "2026-09-15", "until": "2026-09-15"}
    assert ranges["7 days"]["since"] == "2026-09-09"
