"""`GET /dashboard/accounts`: accounts and API keys, with their limits and spending."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from flask import Response, request

from app.accounts.accounts import Account
from app.accounts.apikey import ApiKey
from app.container import services
from app.dashboard.finding import find
from app.dashboard.preferences import zoned_page
from app.dashboard.sign_in import SessionUser, current_user
from app.dashboard.site import dashboard_blueprint
from app.ledger.reports.allowances import read_allowances


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key as the signed-in user may see it: only with accounts that the user may see."""

    key: ApiKey
    account_ids: tuple[str, ...]
    state: str


@dashboard_blueprint.get("/accounts")
def accounts() -> Response:
    """Show the signed-in user's accounts; an admin sees all accounts."""
    now_ms = int(time.time() * 1000)
    stored = services().accounts
    finding = find(request.args, [it for it in stored.list() if _is_visible(current_user(), it)])
    keys = [
        line
        for line in _key_lines(stored.list_keys(), current_user(), now_ms)
        if finding.has(line.key, line.account_ids)
    ]
    subjects = {("account", it.account_id) for it in finding.accounts}
    subjects |= {("key", line.key.key_id) for line in keys}
    limits = [it for it in stored.list_limits() if (it.kind, it.subject_id) in subjects]
    return zoned_page(
        "accounts.html",
        finding=finding,
        accounts=finding.accounts,
        keys=keys,
        allowances=read_allowances(
            services().usage_reader, limits, current_user().account_ids, now_ms
        ),
    )


def _is_visible(of: SessionUser, account: Account) -> bool:
    return of.account_ids is None or account.account_id in of.account_ids


def _key_lines(keys: Iterable[ApiKey], of: SessionUser, now_ms: int) -> list[KeyLine]:
    lines = []
    for key in keys:
        mine = key.account_ids
        if of.account_ids is not None:
            mine = tuple(it for it in mine if it in of.account_ids)
            if not mine:
                continue
        lines.append(KeyLine(key, mine, key.state(now_ms)))
    return sorted(lines, key=lambda line: (line.state != "active", line.key.created_at_ms))
