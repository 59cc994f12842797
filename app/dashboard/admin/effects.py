"""Says what refusing keys would affect: when they were last used, and how much of late."""

from collections.abc import Iterable

from app.accounts.apikey import ApiKey
from app.accounts.keyring import REVOCATION_BOUND_S
from app.dashboard.admin.action import Context
from app.dashboard.formatting import count, span
from app.ledger.reports.query import UsageQuery
from app.ledger.slots import floor_to
from app.storage.sql.tables import SLOT_S

_DAY_S = 86_400

#: When a change is known to every web process.
SOON = f"Every web process applies this within {REVOCATION_BOUND_S} seconds."


def described(key: ApiKey) -> str:
    """Return a key's ID, its name and its accounts."""
    name = f" ({key.name})" if key.name else ""
    accounts = f" of {', '.join(key.account_ids)}" if key.account_ids else ", which has no account"
    return f"{key.key_id}{name}{accounts}"


def last_use(key: ApiKey, now_ms: int) -> str:
    """Return `last used 3 min 20 s ago`, or `never used`; up to two minutes behind."""
    if key.last_used_at_ms is None:
        return "never used"
    return f"last used {span(max(0, now_ms - key.last_used_at_ms))} ago"


def requests_of_a_day(
    context: Context, *, key: ApiKey | None = None, account_id: str | None = None
) -> int:
    """Return how many requests of a key or an account the ledger has of the last 24 hours."""
    end_s = context.now_ms // 1000
    query = UsageQuery(
        start_s=floor_to(end_s - _DAY_S, SLOT_S),
        end_s=end_s + SLOT_S,
        api_key_ids=None if key is None else frozenset({key.key_id}),
        account_ids=None if account_id is None else frozenset({account_id}),
    )
    return sum(row.requests for row in context.usage.rows(query))


def count_of_requests(number: int) -> str:
    """Return `1,204 requests in the last 24 hours`."""
    return f"{count(number)} request{'' if number == 1 else 's'} in the last 24 hours"


def active_keys(context: Context, account_id: str) -> list[ApiKey]:
    """Return the keys of an account that work now."""
    keys: Iterable[ApiKey] = context.accounts.list_keys()
    return [it for it in keys if account_id in it.account_ids and it.is_live(context.now_ms)]
