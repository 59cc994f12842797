"""The calls of entries that store them."""

import pytest
from sqlalchemy import Engine

from app.ledger import entry_calls as module
from app.ledger.entry_calls import EntryCalls, entry_calls
from app.ledger.posting import Ledger
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.ledger.ledgers import MIDNIGHT_S, at

CALLS = (
    CallUsage.of("x", "m", None, "flex", Usage(prompt_tokens=1, total_tokens=1)),
    CallUsage.of("y", "n", "n-1", None, Usage(completion_tokens=2, total_tokens=2)),
)


def test_only_entries_that_store_calls_are_read(engine: Engine) -> None:
    Ledger(engine).post([at(0), at(1, calls=CALLS, source="estimated"), at(2, calls=CALLS[:1])])
    with reading(engine) as connection:
        found = sorted(entry_calls(connection), key=lambda it: it.started_at_ms)
    assert found == [
        EntryCalls(CALLS, (MIDNIGHT_S + 1) * 1000, "estimated"),
        EntryCalls(CALLS[:1], (MIDNIGHT_S + 2) * 1000, "vendor"),
    ]


def test_conditions_select_entries(engine: Engine) -> None:
    Ledger(engine).post(at(0, account_id=name, calls=CALLS) for name in ("a", "b"))
    with reading(engine) as connection:
        wanted = (entries.c.account_id == "a", entries.c.started_at_ms >= MIDNIGHT_S * 1000)
        assert len(list(entry_calls(connection, *wanted))) == 1
        assert list(entry_calls(connection, entries.c.account_id == "c")) == []


def test_more_entries_than_a_batch_are_all_read(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_SIZE", 2)
    Ledger(engine).post(at(n, calls=CALLS) for n in range(5))
    with reading(engine) as connection:
        assert len(list(entry_calls(connection))) == 5
