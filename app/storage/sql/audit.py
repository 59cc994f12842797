"""The audit trail in SQL: who changed what, and when.

A change is recorded in its own transaction. Callers pass no secret.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, func, or_, select

from app.storage.sql.tables import audit
from app.storage.sql.transactions import insert, reading


@dataclass(frozen=True, slots=True)
class Actor:
    """Who changes something.

    `name` is a key's ID (`channel`: `dashboard`) or a person's name (`cli`). `operation_id` is the
    ID of the form that was sent, if any: each makes at most one change.
    """

    name: str
    channel: str
    operation_id: str | None = None


#: The actor of changes that neither the command line nor the dashboard makes.
UNKNOWN_ACTOR = Actor("unknown", "code")


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, to which accounts and key; `detail` holds JSON values by name.

    A changed value is a list of the old and the new one; other values are not lists.
    """

    action: str
    account_ids: tuple[str, ...] = ()
    api_key_id: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A recorded change; the time is in Unix milliseconds."""

    audit_id: int
    at_ms: int
    actor: str
    channel: str
    change: Change


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which entries to return; None stands for all. Times are in Unix milliseconds.

    `until_ms` is exclusive. Entries of a key include the rotation that gave it an end. `before_id`
    excludes the entry of this ID and newer ones.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    account_id: str | None = None
    api_key_id: str | None = None
    actor: str | None = None
    before_id: int | None = None


class AlreadyDone(Exception):
    """The operation has already made its change, which `entry` records; nothing was changed."""

    def __init__(self, entry: AuditEntry) -> None:
        super().__init__(f"The operation was already done: {entry.change.action}.")
        self.entry = entry


def record(connection: Connection, at_ms: int, actor: Actor, change: Change) -> None:
    """Record a change in the transaction that makes it.

    Raises: AlreadyDone if the actor's operation has already made its change.
    """
    statement = insert(connection, audit).on_conflict_do_nothing(index_elements=["operation_id"])
    row = {
        "at_ms": at_ms,
        "actor": actor.name,
        "channel": actor.channel,
        "action": change.action,
        "account_ids": _spaced(change.account_ids),
        "api_key_id": change.api_key_id,
        "detail": json.dumps(change.detail, ensure_ascii=False),
        "operation_id": actor.operation_id,
    }
    if connection.execute(statement.returning(audit.c.audit_id), row).first() is None:
        done = operation_entry(connection, actor)
        if done is None:
            raise AssertionError("the only conflict is an operation's")
        raise AlreadyDone(done)


def operation_entry(connection: Connection, actor: Actor) -> AuditEntry | None:
    """Return the entry of the change that the actor's operation has made; None if it made none."""
    of = select(audit).where(audit.c.operation_id == actor.operation_id)
    row = connection.execute(of).first()
    return None if row is None else _entry(row)


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the old and the new value of each field that differs."""
    return {name: [before[name], after[name]] for name in before if before[name] != after[name]}


def audit_entries(engine: Engine, query: AuditQuery, limit: int | None = None) -> list[AuditEntry]:
    """Return the entries of a query, at most `limit`, the last that was recorded first.

    That is the order of their IDs: the clocks of two hosts may differ, and a clock may be set back.
    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        found = connection.execute(_statement(query).limit(limit))
        return [_entry(row) for row in found]


def _statement(query: AuditQuery) -> Select[Any]:
    statement = select(audit).order_by(audit.c.audit_id.desc())
    if query.since_ms is not None:
        statement = statement.where(audit.c.at_ms >= query.since_ms)
    if query.until_ms is not None:
        statement = statement.where(audit.c.at_ms < query.until_ms)
    if query.account_id is not None:
        # Not LIKE, which ignores case on SQLite.
        without = func.replace(audit.c.account_ids, _spaced((query.account_id,)), "")
        statement = statement.where(without != audit.c.account_ids)
    if query.api_key_id is not None:
        statement = statement.where(_is_about_key(query.api_key_id))
    if query.actor is not None:
        statement = statement.where(audit.c.actor == query.actor)
    if query.before_id is not None:
        statement = statement.where(audit.c.audit_id < query.before_id)
    return statement


def _is_about_key(key_id: str) -> ColumnElement[bool]:
    """Match the entries of a key, and its rotation, which is recorded for the new key."""
    rotated = json.dumps({"rotated_from": key_id}, ensure_ascii=False)[1:-1]
    without = func.replace(audit.c.detail, rotated, "")
    return or_(audit.c.api_key_id == key_id, without != audit.c.detail)


def _spaced(account_ids: tuple[str, ...]) -> str:
    return f" {' '.join(account_ids)} " if account_ids else ""


def _entry(row: Row[Any]) -> AuditEntry:
    change = Change(
        action=row.action,
        account_ids=tuple(row.account_ids.split()),
        api_key_id=row.api_key_id,
        detail=json.loads(row.detail),
    )
    return AuditEntry(row.audit_id, row.at_ms, row.actor, row.channel, change)
