"""`GET /dashboard/requests`: the latest requests, without prompts or completions."""

import re
import time
from collections.abc import Mapping

from flask import Response, request

from app.container import services
from app.dashboard.filters import Filters
from app.dashboard.overview import choices
from app.dashboard.sign_in import current_user
from app.dashboard.site import dashboard_blueprint, page
from app.ledger.reports.recent import Position
from app.vocabulary.errors import InvalidRequest
from app.vocabulary.statuses import STATUSES

PAGE = 50

_POSITION = re.compile(r"([0-9]{1,15})-([!-~]{1,256})")


@dashboard_blueprint.get("/requests")
def requests() -> Response:
    """Show a page of requests, newest first."""
    filters = Filters.load(request.args, time.time())
    status = _status(request.args)
    found = (
        services()
        .reports.open()
        .recent.requests(
            filters.query(current_user().account_ids),
            PAGE + 1,
            statuses=frozenset({status}) if status else None,
            after=_position(request.args),
        )
    )
    last = found[PAGE - 1].position if len(found) > PAGE else None
    return page(
        "requests.html",
        filters=filters,
        choices=choices(),
        status=status,
        statuses=sorted(STATUSES),
        requests=found[:PAGE],
        is_first=not request.args.get("after"),
        older=f"{last.started_at_ms}-{last.event_id}" if last else None,
    )


def _status(args: Mapping[str, str]) -> str:
    status = args.get("status", "")
    if status and status not in STATUSES:
        raise InvalidRequest(
            f"`status` must be one of {', '.join(sorted(STATUSES))}.", param="status"
        )
    return status


def _position(args: Mapping[str, str]) -> Position | None:
    text = args.get("after", "")
    if not text:
        return None
    match = _POSITION.fullmatch(text)
    if match is None:
        raise InvalidRequest(
            '`after` is invalid. Copy it from a page\'s "Older" link.', param="after"
        )
    return Position(int(match[1]), match[2])
