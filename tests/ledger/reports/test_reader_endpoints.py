"""Totals by endpoint: from rollups and from entries, also of what older versions have posted."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.query import GroupKey, UsageQuery, UsageRow
from app.ledger.reports.reader import UsageReader
from app.ledger.slots import DAY_S
from app.storage.sql.tables import ENDPOINT_TABLES
from app.storage.sql.transactions import reading
from app.usage.messages.event import UsageEvent
from tests.ledger.ledgers import DAY, EVENTS, MIDNIGHT_S, at, empty_ledger

CHAT = "chat.completions"
BOTH = [at(1), at(2, endpoint=CHAT, prompt_tokens=30), at(3, endpoint=CHAT, model="chat-only")]
BY_ENDPOINT = replace(DAY, group_by=("endpoint",))


def seen(rows: Sequence[UsageRow]) -> list[tuple[str | None, str | None, int, int]]:
    return [(row.endpoint, row.model, row.requests, row.usage.prompt_tokens) for row in rows]


def test_both_endpoints_are_summed_unless_the_query_tells_them_apart(engine: Engine) -> None:
    Ledger(engine).post(BOTH)
    reader = UsageReader(engine)
    assert seen(reader.rows(DAY)) == [(None, None, 3, 36)]
    assert seen(reader.rows(BY_ENDPOINT)) == [(CHAT, None, 2, 33), ("completions", None, 1, 3)]


@pytest.mark.parametrize(
    ("endpoints", "found"),
    [
        ({CHAT}, [(None, None, 2, 33)]),
        ({"completions"}, [(None, None, 1, 3)]),
        ({"completions", CHAT}, [(None, None, 3, 36)]),
        ({"responses"}, []),
        (set(), []),
    ],
)
@pytest.mark.parametrize("end_s", [DAY.end_s, DAY.end_s + 1])  # the last second is of entries
def test_a_filter_leaves_only_its_endpoints(
    engine: Engine, endpoints: set[str], found: list[object], end_s: int
) -> None:
    Ledger(engine).post(BOTH)
    query = replace(DAY, end_s=end_s, endpoints=frozenset(endpoints))
    assert seen(UsageReader(engine).rows(query)) == found


def test_a_model_that_was_only_called_through_chat_has_no_row_of_completions(
    engine: Engine,
) -> None:
    Ledger(engine).post(BOTH)
    query = replace(DAY, group_by=("endpoint", "model"))
    assert seen(UsageReader(engine).rows(query)) == [
        (CHAT, "chat-only", 1, 3),
        (CHAT, "m", 1, 30),
        ("completions", "m", 1, 3),
    ]


def test_an_abandoned_request_is_replaced_at_its_endpoint(engine: Engine) -> None:
    truth = at(5, endpoint=CHAT, event_id="e")
    Ledger(engine).post([at(5, endpoint=CHAT, event_id="e", status="abandoned", prompt_tokens=1)])
    Ledger(engine).post([truth])
    assert seen(UsageReader(engine).rows(BY_ENDPOINT)) == [(CHAT, None, 1, 3)]


def test_only_other_endpoints_have_rollups_of_their_own(engine: Engine) -> None:
    """Completions, of which most ledgers have years, cost nothing more."""
    Ledger(engine).post(BOTH)
    with reading(engine) as connection:
        for table in ENDPOINT_TABLES.values():
            found = connection.execute(sa.select(table.c.endpoint, table.c.requests)).all()
            assert found == [(CHAT, 1), (CHAT, 1)]


@settings(max_examples=40, deadline=None)
@given(EVENTS, st.sampled_from([None, 900, 3600, DAY_S]), st.integers(0, 1))
def test_rollups_and_entries_have_the_same_totals_of_each_endpoint(
    events: list[UsageEvent], bucket_s: int | None, late: int
) -> None:
    groups: tuple[GroupKey, ...] = ("endpoint", "api_key", "model")
    query = UsageQuery(
        MIDNIGHT_S - DAY_S, MIDNIGHT_S + DAY_S + late, bucket_s=bucket_s, group_by=groups
    )
    with empty_ledger() as engine:
        Ledger(engine).post(events)
        reader = UsageReader(engine)
        rows = reader.rows(query)
        by_entries = reader.rows(replace(query, users=None, group_by=(*groups, "user")))
        assert rows == by_entries
        assert sum(row.requests for row in rows) == len(events)
