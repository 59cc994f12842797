"""Reading the ledger: the same totals from rollups and from entries, in any buckets."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.query import GroupKey, UsageQuery, UsageRow
from app.ledger.reports.reader import UsageReader
from app.ledger.slots import DAY_S
from app.storage.sql.engine import create_engine
from app.usage.messages.event import UsageEvent
from app.vocabulary.completion import Usage
from app.vocabulary.errors import LedgerUnavailable
from tests.ledger.ledgers import DAY, MIDNIGHT_S, at, empty_ledger, requests


def read(engine: Engine, events: Iterable[UsageEvent], query: UsageQuery) -> list[UsageRow]:
    Ledger(engine).post(events)
    return UsageReader(engine).rows(query)


def total(rows: Iterable[UsageRow]) -> Usage:
    return sum((row.usage for row in rows), Usage())


def test_without_groups_or_buckets_everything_is_one_row(engine: Engine) -> None:
    events = [
        at(0),
        at(1, status="failed", source="none", prompt_tokens=0, total_tokens=2),
        at(2, source="estimated", reasoning_tokens=1),
        at(3, account_id="other"),
    ]
    usage = Usage(prompt_tokens=9, completion_tokens=8, total_tokens=17, reasoning_tokens=1)
    row = UsageRow(requests=4, failed_requests=1, estimated_requests=1, usage=usage)
    assert read(engine, events, DAY) == [row]
    (by_entries,) = UsageReader(engine).rows(replace(DAY, group_by=("user",)))
    assert by_entries == row


def test_without_usage_there_is_no_row(engine: Engine) -> None:
    assert read(engine, [], DAY) == []
    assert read(engine, [], replace(DAY, users=frozenset({"u"}), bucket_s=3600)) == []


@pytest.mark.parametrize("group_by", [(), ("user",)])
def test_the_start_is_in_the_range_and_the_end_is_not(
    engine: Engine, group_by: tuple[GroupKey, ...]
) -> None:
    events = [at(-0.001), at(0), at(DAY_S - 0.001), at(DAY_S)]
    assert requests(read(engine, events, replace(DAY, group_by=group_by))) == 2


def test_a_range_is_exact_to_the_second_at_both_ends(engine: Engine) -> None:
    Ledger(engine).post(at(second) for second in range(0, 3600, 10))
    for start_s, end_s in ((7, 3333), (0, 3333), (7, 3600), (900, 1800), (905, 1795), (20, 21)):
        rows = UsageReader(engine).rows(UsageQuery(MIDNIGHT_S + start_s, MIDNIGHT_S + end_s))
        assert requests(rows) == len([s for s in range(0, 3600, 10) if start_s <= s < end_s])


def test_a_range_that_ends_before_it_starts_is_empty(engine: Engine) -> None:
    query = UsageQuery(MIDNIGHT_S + DAY_S, MIDNIGHT_S)
    assert read(engine, [at(5)], query) == []


@pytest.mark.parametrize("bucket_s", [60, 900, 3600, DAY_S])
def test_buckets_start_at_whole_multiples_in_utc(engine: Engine, bucket_s: int) -> None:
    events = [at(second) for second in (0, 59, 60, 3599, 3600, DAY_S - 1)]
    rows = read(engine, events, replace(DAY, bucket_s=bucket_s))
    starts = [MIDNIGHT_S + s // bucket_s * bucket_s for s in (0, 59, 60, 3599, 3600, DAY_S - 1)]
    assert [row.bucket_start_s for row in rows] == sorted(set(starts))
    assert [row.requests for row in rows] == [starts.count(start) for start in sorted(set(starts))]


def test_a_group_by_model_separates_vendors(engine: Engine) -> None:
    events = [
        at(0, vendor="vllm", model="m"),
        at(0, vendor="openai", model="m"),
        at(0, vendor="openai", model="M"),
        at(0, vendor="openai", model="ft:m:org::abc"),
    ]
    rows = read(engine, events, replace(DAY, group_by=("model",)))
    names = [("openai", "M"), ("openai", "ft:m:org::abc"), ("openai", "m"), ("vllm", "m")]
    assert [(row.vendor, row.model) for row in rows] == names
    by_vendor = UsageReader(engine).rows(replace(DAY, group_by=("vendor",)))
    assert [(row.vendor, row.model, row.requests) for row in by_vendor] == [
        ("openai", None, 3),
        ("vllm", None, 1),
    ]


def test_rows_are_ordered_by_bucket_and_then_by_group_in_byte_order(engine: Engine) -> None:
    events = [
        at(second, account_id=account_id, user=user)
        for second, account_id, user in product((3600, 0), ("b", "a", "B"), ("u", None, "U"))
    ]
    rows = read(engine, events, replace(DAY, bucket_s=3600, group_by=("account", "user")))
    found = [(row.bucket_start_s, row.account_id, row.user) for row in rows]
    hours = (MIDNIGHT_S, MIDNIGHT_S + 3600)
    assert found == list(product(hours, ("B", "a", "b"), (None, "U", "u")))


@pytest.mark.parametrize("group_by", [(), ("user",)])
def test_filters_include_only_what_they_name(
    engine: Engine, group_by: tuple[GroupKey, ...]
) -> None:
    Ledger(engine).post(
        at(0, account_id=account_id, api_key_id=key, vendor=vendor, model=model)
        for account_id, key, vendor, model in product(
            ("acme", "Acme"), ("key_1", "key_2"), ("openai", "vllm"), ("m", "org/m:1")
        )
    )

    def count(**filters: frozenset[str] | None) -> int:
        query = replace(DAY, group_by=group_by, **filters)  # type: ignore[arg-type]
        return requests(UsageReader(engine).rows(query))

    assert count() == 16
    assert count(account_ids=frozenset({"acme"})) == 8
    assert count(account_ids=frozenset({"acme", "Acme", "nobody"})) == 16
    assert count(api_key_ids=frozenset({"key_2"})) == 8
    assert count(models=frozenset({"vllm/org/m:1"})) == 4
    assert count(models=frozenset({"vllm/org/m:1", "openai/m"})) == 8
    assert count(models=frozenset({"m", "vllm", "", "/", "vllm/M"})) == 0
    assert count(account_ids=frozenset({"acme"}), models=frozenset({"openai/m"})) == 2
    for name in ("account_ids", "api_key_ids", "models", "users"):
        assert count(**{name: frozenset()}) == 0


def test_users_are_case_sensitive_and_may_be_absent(engine: Engine) -> None:
    events = [at(0, user="u"), at(1, user="u"), at(2, user="U"), at(3)]
    rows = read(engine, events, replace(DAY, group_by=("user",)))
    assert [(row.user, row.requests) for row in rows] == [(None, 1), ("U", 1), ("u", 2)]
    rows = UsageReader(engine).rows(replace(DAY, users=frozenset({"u"})))
    assert [(row.user, row.requests) for row in rows] == [(None, 2)]


def test_sums_may_be_larger_than_any_one_count(engine: Engine) -> None:
    events = [at(i, total_tokens=2**40) for i in range(3)]
    assert total(read(engine, events, DAY)).total_tokens == 3 * 2**40


def test_hostile_names_are_values_and_nothing_else(engine: Engine) -> None:
    name = "x'); DROP TABLE entries; -- %s %(a)s :b ?"
    events = [at(0, model=name, user=name)]
    query = replace(DAY, models=frozenset({f"openai/{name}"}), group_by=("user", "model"))
    (row,) = read(engine, events, query)
    assert (row.user, row.model) == (name, name)


def test_a_ledger_without_tables_is_unavailable(tmp_path_factory: pytest.TempPathFactory) -> None:
    engine = create_engine(f"sqlite:///{tmp_path_factory.mktemp('new') / 'ledger.db'}")
    with pytest.raises(LedgerUnavailable):
        UsageReader(engine).rows(DAY)
    engine.dispose()


EVENTS = st.lists(
    st.builds(
        at,
        st.integers(0, 4 * 3600 * 1000).map(lambda ms: ms / 1000),
        account_id=st.sampled_from(["a", "A", "b"]),
        api_key_id=st.sampled_from(["key_1", "key_2"]),
        vendor=st.sampled_from(["openai", "vllm"]),
        model=st.sampled_from(["m", "M"]),
        user=st.sampled_from([None, "u", "U"]),
        status=st.sampled_from(["completed", "failed"]),
        source=st.sampled_from(["vendor", "estimated"]),
        total_tokens=st.integers(0, 1000),
    ),
    max_size=15,
)
CUTS: tuple[tuple[GroupKey, ...], ...] = (
    ("account",),
    ("api_key",),
    ("vendor",),
    ("model",),
    ("user",),
    ("account", "api_key", "model", "user"),
)


@settings(max_examples=40, deadline=None)
@given(EVENTS, st.integers(0, 4 * 3600), st.integers(0, 4 * 3600))
def test_every_cut_adds_up_to_the_same_total(
    events: list[UsageEvent], start_s: int, end_s: int
) -> None:
    """Sum over keys = over models = over users = over buckets of any width = the total."""
    whole = UsageQuery(MIDNIGHT_S + start_s, MIDNIGHT_S + end_s)
    inside = [e for e in events if start_s <= e.started_at_ms / 1000 - MIDNIGHT_S < end_s]
    expected = (len(inside), sum((e.usage for e in inside), Usage()))
    with empty_ledger() as engine:
        Ledger(engine).post(events)
        reader = UsageReader(engine)
        for group_by, bucket_s in product(((), *CUTS), (None, 60, 900, 3600, DAY_S)):
            rows = reader.rows(replace(whole, group_by=group_by, bucket_s=bucket_s))
            assert (requests(rows), total(rows)) == expected
            assert sum(row.failed_requests for row in rows) == len(
                [e for e in inside if e.status == "failed"]
            )
