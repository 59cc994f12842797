"""The audit trail in SQL."""

import pytest
from sqlalchemy import Connection, Engine

from app.storage.sql.audit import (
    Actor,
    AlreadyDone,
    AuditQuery,
    Change,
    audit_entries,
    record,
)
from app.storage.sql.tables import limits
from app.storage.sql.transactions import write
from tests.ledger.ledgers import rows

ANN, BOB = Actor("ann", "cli"), Actor("key_1", "dashboard", "form_1")


def note(engine: Engine, at_ms: int, actor: Actor, change: Change) -> None:
    write(engine, lambda connection: record(connection, at_ms, actor, change))


def actions(engine: Engine, limit: int | None = None, **query: object) -> list[str]:
    found = audit_entries(engine, AuditQuery(**query), limit)  # type: ignore[arg-type]
    return [it.change.action for it in found]


def test_a_change_is_read_as_it_was_recorded(engine: Engine) -> None:
    change = Change("key.create", ("a", "b"), "key_2", {"name": "Zoë", "limit": [None, 2**60]})
    note(engine, 5, BOB, change)
    (entry,) = audit_entries(engine, AuditQuery())
    assert (entry.at_ms, entry.actor, entry.channel) == (5, "key_1", "dashboard")
    assert entry.change == change


def test_entries_are_found_by_account_key_actor_and_time_newest_first(engine: Engine) -> None:
    note(engine, 1, ANN, Change("first", ("acme", "a_b"), "key_2"))
    note(engine, 2, ANN, Change("second", ("ACME",)))
    note(engine, 3, BOB, Change("third", ("acme_2", "a-b"), "key_3"))
    assert actions(engine) == ["third", "second", "first"]
    assert actions(engine, since_ms=2) == ["third", "second"]
    assert actions(engine, account_id="acme") == ["first"]
    assert actions(engine, account_id="a_b") == ["first"]
    assert actions(engine, account_id="ACME") == ["second"]
    assert actions(engine, api_key_id="key_3") == ["third"]
    assert actions(engine, actor="ann") == ["second", "first"]
    assert actions(engine, 1) == ["third"]
    newest = audit_entries(engine, AuditQuery())[0]
    assert actions(engine, before_id=newest.audit_id) == ["second", "first"]


def test_pages_have_every_entry_also_of_a_clock_that_was_set_back(engine: Engine) -> None:
    for at_ms, action in ((10, "first"), (30, "second"), (20, "third"), (40, "fourth")):
        note(engine, at_ms, ANN, Change(action))
    found, before = list[str](), None
    while page := audit_entries(engine, AuditQuery(before_id=before), 1):
        before = page[0].audit_id
        found.append(page[0].change.action)
    assert found == ["fourth", "third", "second", "first"] == actions(engine)


def test_an_operation_makes_its_change_once(engine: Engine) -> None:
    def change(connection: Connection) -> None:
        row = {"kind": "account", "subject_id": "acme", "period": "day"}
        connection.execute(limits.insert().values(row))
        record(connection, 1, BOB, Change("limits.set", ("acme",)))

    write(engine, change)
    with pytest.raises(AlreadyDone) as raised:
        write(engine, lambda connection: record(connection, 2, BOB, Change("other")))
    assert raised.value.entry.change.action == "limits.set"
    assert len(rows(engine, limits)) == 1
    for _ in range(2):
        note(engine, 3, ANN, Change("any"))
    assert actions(engine) == ["any", "any", "limits.set"]
