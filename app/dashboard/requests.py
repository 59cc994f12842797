"""`GET /dashboard/requests`: the latest requests, without prompts or completions."""

import re
import time
from collections.abc import Mapping

from flask import Response, request

from app.container import services
from app.dashboard.aggregates import total
from app.dashboard.downloads import csv_file, request_lines
from app.dashboard.filters import Filters
from app.dashboard.preferences import filtered_page, stored_zone
from app.dashboard.sign_in import current_user
from app.dashboard.site import dashboard_blueprint
from app.ledger.reports.recent import Position
from app.vocabulary.errors import InvalidRequest

PAGE = 50

_POSITION = re.compile(r"([0-9]{1,15})-([!-~]{1,256})")


@dashboard_blueprint.get("/requests")
def requests() -> Response:
    """Show a page of requests, newest first."""
    filters = Filters.load(request.args, time.time(), stored_zone())
    query = filters.query(current_user().account_ids)
    source = services().reports.open()
    found = source.recent.requests(query, PAGE + 1, after=_position(request.args))
    last = found[PAGE - 1].position if len(found) > PAGE else None
    if request.args.get("csv"):
        return csv_file("requests", request_lines(found[:PAGE], filters.range.zone))
    return filtered_page(
        "requests.html",
        filters,
        requests=found[:PAGE],
        # Statuses and users are not in rollups: counting them would read every entry.
        total=None if query.needs_entries else total(source.usage.rows(query)),
        after=request.args.get("after", ""),
        older=f"{last.started_at_ms}-{last.event_id}" if last else None,
    )


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
