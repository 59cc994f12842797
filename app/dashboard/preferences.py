"""What a browser remembers between pages: its time zone, and whether pages refresh themselves.

Each is a cookie of the dashboard. The address of a page may name another zone, which applies to
that page and its links.
"""

import re
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from flask import Response, redirect, request, url_for

from app.dashboard.choices import read_choices
from app.dashboard.filters import GROUPS, Filters
from app.dashboard.sign_in import is_https, own_page, require_form_token
from app.dashboard.site import dashboard_blueprint, page
from app.dashboard.time_ranges import PRESETS, find_zone, zone_names
from app.vocabulary.errors import InvalidRequest

ZONE_COOKIE, REFRESH_COOKIE = "tollgate_zone", "tollgate_refresh"
KEPT_S = 365 * 86_400


def stored_zone() -> str:
    """Return the time zone that the browser remembers; UTC if it has none that is known."""
    name = request.cookies.get(ZONE_COOKIE, "")
    return name if name in zone_names() else "UTC"


def zoned_page(template: str, http_status: int = 200, **values: Any) -> Response:
    """Return a page that shows times in the zone that the browser remembers."""
    name = stored_zone()
    return page(template, http_status, zone=find_zone(name), zone_name=name, **values)


def filtered_page(template: str, filters: Filters, **values: Any) -> Response:
    """Return a page with filters, and with what their form and the refresh button need."""
    return page(
        template,
        filters=filters,
        choices=read_choices(),
        presets=PRESETS,
        groups=tuple(GROUPS),
        refresh_state=request.cookies.get(REFRESH_COOKIE, ""),
        **values,
    )


@dashboard_blueprint.get("/time-zone")
def time_zone() -> Response:
    """Show the list of time zones."""
    regions: dict[str, list[str]] = {}
    for name in zone_names():
        regions.setdefault(name.partition("/")[0], []).append(name)
    chosen = request.args.get("zone", "") or stored_zone()
    next_page = own_page(request.args.get("next", ""))
    return page("time_zone.html", regions=regions, chosen=chosen, next_page=next_page)


@dashboard_blueprint.post("/time-zone")
def set_time_zone() -> Response:
    """Remember a time zone, and return to the page."""
    require_form_token()
    zone = request.form.get("zone", "")
    find_zone(zone)
    parts = urlsplit(own_page(request.form.get("next", "")))
    kept = [(name, text) for name, text in parse_qsl(parts.query) if name != "zone"]
    where = f"{parts.path}?{urlencode(kept, safe='/:')}" if kept else parts.path
    return _remembering(where, ZONE_COOKIE, zone)


@dashboard_blueprint.post("/refresh")
def set_refresh() -> Response:
    """Remember whether pages refresh themselves, and return to the page."""
    require_form_token()
    state = request.form.get("state", "")
    if not re.fullmatch("on|off", state):
        raise InvalidRequest("`state` must be `on` or `off`.", param="state")
    return _remembering(own_page(request.form.get("next", "")), REFRESH_COOKIE, state)


def _remembering(where: str, name: str, text: str) -> Response:
    response = redirect(where, 303)
    response.headers["cache-control"] = "no-store"
    response.set_cookie(
        name,
        text,
        max_age=KEPT_S,
        path=url_for("dashboard.overview"),
        secure=is_https(),
        httponly=True,
        samesite="Strict",
    )
    return response  # type: ignore[return-value]
