"""Finds single requests by an id that somebody has: ours, the vendor's or the usage event's.

Does not depend on HTTP. `recent` lists requests, `reader` reads totals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Engine, select, union_all

from app.ledger.posting import Entry, entry_of
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from app.vocabulary.errors import VendorAuthentication

#: The most requests that one id finds: a vendor may give many calls the same id.
FOUND_LIMIT = 100

#: The columns that are searched; each has an index.
IDS = ("event_id", "request_id", "vendor_request_id")

NOT_FOUND = (
    "No request with this id is in the ledger. The id of a request, of its usage event, or the"
    " vendor's request id finds one. A request is in the ledger a few seconds after its end; one"
    " that was refused before a vendor was called is not: the web process's log line has the id and"
    " the code, and refused requests are counted by reason."
)

#: The code of errors of which vendors' words are for operators alone.
_OPERATORS = VendorAuthentication.code

#: What an entry does not store of its event.
_NOT_STORED = ("process", "number")


@dataclass(frozen=True, slots=True)
class RequestLookup:
    """Finds requests in one ledger."""

    engine: Engine

    def find(self, any_id: str, account_ids: frozenset[str] | None = None) -> list[Entry]:
        """Return the requests with this id, newest first, at most FOUND_LIMIT.

        `any_id` is a request id, a vendor's request id or an event id. `account_ids` None searches
        all accounts, for operators; others are not shown what vendors say of Tollgate's credentials
        and billing. Raises: LedgerUnavailable.
        """
        if "\0" in any_id:
            return []  # no stored text contains it, and PostgreSQL rejects it
        mine = [] if account_ids is None else [entries.c.account_id.in_(sorted(account_ids))]
        ids = union_all(
            *(select(entries.c.event_id).where(entries.c[name] == any_id, *mine) for name in IDS)
        )
        newest = (entries.c.started_at_ms.desc(), entries.c.event_id.desc())
        statement = select(entries).where(entries.c.event_id.in_(ids)).order_by(*newest)
        with reading(self.engine) as connection:
            rows = connection.execute(statement.limit(FOUND_LIMIT)).mappings().all()
        found = map(entry_of, rows)
        return list(found if account_ids is None else map(_for_others, found))


def _for_others(entry: Entry) -> Entry:
    """Return an entry without what is for operators alone."""
    event = entry.event
    attempts = tuple(
        replace(it, error_message=None) if it.error_code == _OPERATORS else it
        for it in event.attempt_log
    )
    message = None if event.error_code == _OPERATORS else event.error_message
    return entry._replace(event=replace(event, error_message=message, attempt_log=attempts))


def as_object(found: Sequence[Entry]) -> dict[str, Any]:
    """Return the newest of these requests, at least one, as a JSON object.

    Its fields are those of UsageEvent, in milliseconds and tokens, and the cost in nano-dollars.
    `other_event_ids` are those of the other requests with the same id.
    """
    event, cost_nanousd, price_id = found[0]
    return {
        "object": "organization.request",
        "id": event.request_id,
        **{name: it for name, it in event.as_json().items() if name not in _NOT_STORED},
        "cost_nanousd": cost_nanousd,
        "price_id": price_id,
        "other_event_ids": [entry.event.event_id for entry in found[1:]],
    }
