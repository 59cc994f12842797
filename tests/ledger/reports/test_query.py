"""A query's columns, and what a row says of its cost."""

import pytest

from app.ledger.reports.query import GroupKey, UsageQuery, UsageRow
from app.vocabulary.completion import Usage


@pytest.mark.parametrize(
    ("group_by", "columns"),
    [
        ((), ()),
        (("account", "user"), ("account_id", "user")),
        (("model",), ("vendor", "model")),
        (("model", "vendor"), ("vendor", "model")),
        (("api_key", "vendor", "model"), ("api_key_id", "vendor", "model")),
    ],
)
def test_a_group_by_model_has_its_vendor_and_each_column_once(
    group_by: tuple[GroupKey, ...], columns: tuple[str, ...]
) -> None:
    assert UsageQuery(0, 1, group_by=group_by).columns == columns


@pytest.mark.parametrize(
    ("priced", "empty", "cost_nanousd", "unpriced", "known"),
    [
        (3, 0, 30, 0, 30),
        (2, 1, 20, 0, 20),
        (2, 0, 20, 1, 20),
        (0, 0, 0, 3, None),
        (0, 3, 0, 0, 0),
        (1, 0, 0, 2, None),
    ],
)
def test_a_cost_is_unknown_only_if_nothing_of_it_is_known(
    priced: int, empty: int, cost_nanousd: int, unpriced: int, known: int | None
) -> None:
    row = UsageRow(
        requests=3,
        failed_requests=0,
        estimated_requests=0,
        usage=Usage(),
        cost_nanousd=cost_nanousd,
        priced_requests=priced,
        empty_requests=empty,
    )
    assert (row.unpriced_requests, row.known_cost_nanousd) == (unpriced, known)
