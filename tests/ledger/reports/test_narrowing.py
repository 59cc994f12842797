"""Lists with filters find every matching request, and only those, wherever they are."""

from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports import narrowing
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.recent import Position, RecentReader, Request
from tests.support.events import usage_event

DAY_S = 86_400
START_S = 1_780_012_800
ALL = {"start_s": START_S + 600, "end_s": START_S + 20 * DAY_S + 300}


def pages(engine: Engine, query: UsageQuery, size: int) -> Iterator[list[Request]]:
    after: Position | None = None
    while page := RecentReader(engine).requests(query, size, after=after):
        yield page
        after = page[-1].position


@pytest.fixture
def engine_with_rare_ones(engine: Engine) -> Engine:
    """A ledger of a request every two hours, of two accounts; few failed, or are of another key."""
    events = []
    for at in range(240):
        rare = {"status": "failed"} if at % 31 == 0 else {}
        rare |= {"api_key_id": "rare", "user": "u"} if at % 17 == 0 else {}
        rare |= {"endpoint": "chat.completions"} if at % 13 == 0 else {}
        started_at_ms = (START_S + at * 7200 + at % 4 * 900) * 1000
        event_id, account_id = f"{at:04}", ("acme", "beta")[at % 2]
        events.append(
            usage_event(
                event_id=event_id,
                account_id=account_id,
                started_at_ms=started_at_ms,
                model=f"m{at % 3}",
                **rare,
            )
        )
    Ledger(engine).post(events)
    return engine


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"statuses": frozenset({"failed"})}, range(31, 240, 31)),
        ({"api_key_ids": frozenset({"rare"})}, range(17, 240, 17)),
        ({"api_key_ids": frozenset({"rare"}), "users": frozenset({"u"})}, range(17, 240, 17)),
        ({"models": frozenset({"openai/m1"})}, range(1, 240, 3)),
        (
            {"models": frozenset({"openai/m1"}), "statuses": frozenset({"failed"})},
            range(31, 240, 93),
        ),
        ({"account_ids": frozenset({"acme"}), "vendors": frozenset({"openai"})}, range(2, 240, 2)),
        ({"statuses": frozenset({"truncated"})}, ()),
        ({"endpoints": frozenset({"chat.completions"})}, range(13, 240, 13)),
        (
            {"endpoints": frozenset({"chat.completions"}), "models": frozenset({"openai/m1"})},
            range(13, 240, 39),
        ),
        (
            {"endpoints": frozenset({"completions"}), "users": frozenset({"u"})},
            [at for at in range(17, 240, 17) if at % 13],
        ),
        ({"statuses": frozenset({"failed", "truncated"})}, range(31, 240, 31)),
        ({"vendors": frozenset({"another"})}, ()),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 500])
def test_pages_have_every_matching_request_once(
    engine_with_rare_ones: Engine,
    monkeypatch: pytest.MonkeyPatch,
    filters: dict[str, frozenset[str]],
    found: Sequence[int],
    size: int,
) -> None:
    monkeypatch.setattr(narrowing, "HOURS_LIMIT", 4)
    query = UsageQuery(**ALL, **filters)  # type: ignore[arg-type]
    read = [it.event_id for page in pages(engine_with_rare_ones, query, size) for it in page]
    assert read == [f"{at:04}" for at in reversed(found)]


@pytest.mark.parametrize("named", [None, 50])
def test_a_model_that_hundreds_of_accounts_use_is_listed(engine: Engine, named: int | None) -> None:
    """A condition for each account would be too long for the database."""
    starts = [
        (account, START_S + slot * 900 + account) for account in range(300) for slot in range(4)
    ]
    events = [
        usage_event(
            event_id=f"{at_s}-{account:03}",
            account_id=f"a{account:03}",
            started_at_ms=at_s * 1000,
            model=("m", "n")[account % 2],
        )
        for account, at_s in starts
    ]
    Ledger(engine).post(events)
    accounts = None if named is None else frozenset(f"a{at:03}" for at in range(named))
    query = UsageQuery(
        START_S, START_S + DAY_S, models=frozenset({"openai/m"}), account_ids=accounts
    )
    found = [it.event_id for page in pages(engine, query, 100) for it in page]
    wanted = [it for it in events if it.model == "m"]
    wanted = [it for it in wanted if accounts is None or it.account_id in accounts]
    assert found == sorted((it.event_id for it in wanted), reverse=True)
