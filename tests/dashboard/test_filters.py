"""The filters of a page, and the query of the ledger."""

import pytest

from app.dashboard.filters import Filters
from app.vocabulary.errors import AccountNotAllowed, InvalidRequest

#: 2026-09-15 12:00 UTC.
NOW_S = 1_789_473_600.0


def load(**args: str) -> Filters:
    """Parse a query string at NOW_S."""
    return Filters.load(args, NOW_S)


def test_without_filters_the_last_30_days_are_shown() -> None:
    assert load().range.preset == "30d"
    assert load().own_range == ("", "")


def test_an_own_range_precedes_a_preset() -> None:
    filters = load(range="7d", since="2026-09-01", until="2026-09-02")
    assert filters.range.preset == ""
    assert filters.own_range == ("2026-09-01T00:00", "2026-09-03T00:00")


def test_the_zone_of_the_query_precedes_the_users() -> None:
    assert Filters.load({}, NOW_S, "Europe/Berlin").zone == "Europe/Berlin"
    assert Filters.load({"zone": "Asia/Tokyo"}, NOW_S, "Europe/Berlin").zone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("args", "param"),
    [
        ({"by": "weather"}, "by"),
        ({"model": "gpt-4o"}, "model"),
        ({"model": "/m"}, "model"),
        ({"status": "good"}, "status"),
        ({"endpoint": "images"}, "endpoint"),
        ({"zone": "Mars/Olympus"}, "zone"),
        ({"range": "2h"}, "range"),
        ({"vendor": "a\0"}, None),
        ({"since": "a\0"}, None),
    ],
)
def test_an_invalid_filter_is_named(args: dict[str, str], param: str | None) -> None:
    with pytest.raises(InvalidRequest) as caught:
        load(**args)
    assert caught.value.param == param


def test_filters_become_the_ledgers_query() -> None:
    filters = load(
        account="acme",
        key="k",
        vendor="openai",
        model="openai/m",
        user="u",
        status="failed",
        endpoint="completions",
    )
    query = filters.query(None)
    assert query.account_ids == frozenset({"acme"})
    assert (query.vendors, query.models) == (frozenset({"openai"}), frozenset({"openai/m"}))
    assert (query.api_key_ids, query.users) == (frozenset({"k"}), frozenset({"u"}))
    assert query.statuses == frozenset({"failed"})
    assert query.endpoints == frozenset({"completions"})
    assert load(by="key").query(None).group_by == ("api_key",)


@pytest.mark.parametrize(
    ("args", "needs"),
    [
        ({}, False),
        ({"by": "key", "account": "acme"}, False),
        ({"by": "user"}, True),
        ({"by": "status"}, True),
        ({"user": "u"}, True),
        ({"status": "failed"}, True),
    ],
)
def test_only_users_and_statuses_need_entries(args: dict[str, str], *, needs: bool) -> None:
    assert load(**args).query(None).needs_entries is needs


def test_only_visible_accounts_are_queried() -> None:
    visible = frozenset({"acme", "beta"})
    assert load().query(visible).account_ids == visible
    assert load(account="beta").query(visible).account_ids == frozenset({"beta"})
    with pytest.raises(AccountNotAllowed):
        load(account="other").query(visible)


def test_a_link_keeps_the_filters_that_it_does_not_change() -> None:
    filters = load(since="2026-09-01", until="2026-09-02", account="a&b", by="vendor")
    changed = filters.url_query(account="", vendor="openai")
    assert changed == "since=2026-09-01&until=2026-09-02&vendor=openai&by=vendor&zone=UTC"
    assert (
        load(zone="Europe/Berlin").url_query(range="7d") == "range=7d&by=model&zone=Europe/Berlin"
    )
    assert filters.active == {"account": "a&b"}
