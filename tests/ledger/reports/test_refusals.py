"""Refused requests, by bucket and group."""

from typing import Any

import pytest
from sqlalchemy import Engine

from app.ledger.refusals import post_refusals
from app.ledger.reports.query import GroupKey, UsageQuery
from app.ledger.reports.refusals import RefusalReader
from app.storage.sql.tables import DAY_S, HOUR_S
from app.usage.refusal import Refusal
from tests.ledger.ledgers import MIDNIGHT_S


def of(hour: int, reason: str, account_id: str = "acme", api_key_id: str = "key_1") -> Refusal:
    return Refusal(MIDNIGHT_S + hour * HOUR_S, account_id, api_key_id, "completions", reason)


@pytest.fixture
def reader(engine: Engine) -> RefusalReader:
    counts = {of(0, "a"): 1, of(1, "a"): 2, of(25, "b"): 4, of(2, "a", "", ""): 8}
    post_refusals(engine, "b", counts, 0)
    return RefusalReader(engine)


@pytest.mark.parametrize(
    ("group_by", "found"),
    [
        ((), [15]),
        (("reason",), [("a", 11), ("b", 4)]),
        (("account",), [("", 8), ("acme", 7)]),
        (("account", "reason"), [("", "a", 8), ("acme", "a", 3), ("acme", "b", 4)]),
    ],
)
def test_rows_are_by_group(
    reader: RefusalReader, group_by: tuple[GroupKey, ...], found: list[Any]
) -> None:
    query = UsageQuery(MIDNIGHT_S, MIDNIGHT_S + 2 * DAY_S, group_by=group_by)
    rows = [
        tuple(it for it in (row.account_id, row.reason, row.requests) if it is not None)
        for row in reader.rows(query)
    ]
    assert rows == [it if isinstance(it, tuple) else (it,) for it in found]


def test_an_hour_belongs_to_the_bucket_in_which_it_begins(reader: RefusalReader) -> None:
    start_s = MIDNIGHT_S - 1800
    query = UsageQuery(start_s, start_s + 2 * DAY_S, DAY_S, start_s % DAY_S)
    found = {row.bucket_start_s: row.requests for row in reader.rows(query)}
    assert found == {start_s: 11, start_s + DAY_S: 4}


def test_filters_are_accounts_keys_and_endpoints(reader: RefusalReader) -> None:
    day = (MIDNIGHT_S, MIDNIGHT_S + DAY_S)
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({"account_ids": frozenset({"acme"})}, [3]),
        ({"account_ids": frozenset[str]()}, []),
        ({"api_key_ids": frozenset({""})}, [8]),
        ({"api_key_ids": frozenset({"key_1", ""})}, [11]),
        ({"endpoints": frozenset({"completions"})}, [11]),
        ({"endpoints": frozenset({"chat.completions"})}, []),
    ]
    for filters, requests in cases:
        assert [it.requests for it in reader.rows(UsageQuery(*day, **filters))] == requests
