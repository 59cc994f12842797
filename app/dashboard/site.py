"""The dashboard's blueprint: rendering, security headers and error pages.

Does not depend on usage. `sign_in` decides who may see a page.
"""

import logging
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, g, make_response, render_template, request
from werkzeug.exceptions import HTTPException

from app import __version__
from app.accounts.apikey import hide_keys
from app.api.auth import challenge
from app.api.http_errors import from_http
from app.dashboard import formatting
from app.dashboard.assets import asset, keep_in_browser
from app.vocabulary.errors import PathNotFound, TollgateError
from app.vocabulary.money import show_usd

log = logging.getLogger(__name__)

dashboard_blueprint = Blueprint(
    "dashboard",
    __name__,
    url_prefix="/dashboard",
    template_folder="templates",
    static_folder="static",
)

#: Nothing from other sites, no inline scripts or styles, no framing.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: The template that shows a new key. Others repeat what was typed, which may be a key, too.
NEW_KEY_PAGE = "admin/done.html"

NO_SUCH_PAGE = "The dashboard has no such page. Check the address, or go back."


@dataclass(frozen=True, slots=True)
class NavigationLink:
    """A page in the header; `endpoints` are those on which it is the current page."""

    name: str
    endpoints: tuple[str, ...]
    admins_only: bool = False


#: The pages in the header, in their order.
NAVIGATION: tuple[NavigationLink, ...] = (
    NavigationLink("Usage", ("overview",)),
    NavigationLink("Requests", ("requests", "request_page")),
    NavigationLink("Accounts", ("accounts",)),
    NavigationLink(
        "Administration", ("admin", "admin_form", "submit_admin_form", "audit"), admins_only=True
    ),
)

for _filter in (
    formatting.count,
    formatting.short_count,
    formatting.usd,
    formatting.short_usd,
    formatting.amount,
    formatting.short_amount,
    show_usd,
    formatting.span,
    formatting.share,
    formatting.moment,
    formatting.iso_moment,
    formatting.short_moment,
    formatting.offset,
    formatting.plural,
):
    dashboard_blueprint.app_template_filter(f"dashboard_{_filter.__name__}")(_filter)


def page(template: str, http_status: int = 200, **values: Any) -> Response:
    """Return a page that is not cached; only the page of a new key contains one."""
    current_user = g.get("current_user")
    shared = {
        "current_user": current_user,
        "navigation": NAVIGATION,
        "here": _here(),
        "asset": asset,
        "version": __version__,
    }
    html = render_template(f"dashboard/{template}", **shared, **values)
    response = make_response(html if template == NEW_KEY_PAGE else hide_keys(html), http_status)
    response.headers["cache-control"] = "no-store"
    return response


def _here() -> str:
    """Return the address of the page, to which its forms return."""
    return request.full_path.rstrip("?") if request.method == "GET" else request.path


@dashboard_blueprint.after_request
def _harden(response: Response) -> Response:
    keep_in_browser(response)
    response.headers["content-security-policy"] = CONTENT_SECURITY_POLICY
    response.headers["x-content-type-options"] = "nosniff"
    # With `no-referrer`, browsers would send `Origin: null` with the dashboard's own forms.
    response.headers["referrer-policy"] = "same-origin"
    response.headers["cross-origin-opener-policy"] = "same-origin"
    if response.status_code == 401:
        response.headers["www-authenticate"] = challenge(sent=True)
    return response


@dashboard_blueprint.get("/<path:_unknown>")
def no_such_page(_unknown: str) -> Response:
    """Show that there is no such page, instead of an error of the API."""
    raise PathNotFound(NO_SUCH_PAGE)


@dashboard_blueprint.errorhandler(TollgateError)
def _show(error: TollgateError) -> Response:
    g.error_code = error.code
    return page("error.html", error.status, message=error.message)


@dashboard_blueprint.errorhandler(HTTPException)
def _show_http(error: HTTPException) -> Response:
    return _show(PathNotFound(NO_SUCH_PAGE) if error.code == 404 else from_http(error))


@dashboard_blueprint.errorhandler(Exception)
def _show_unexpected(error: Exception) -> Response:
    log.error("unexpected error in %s", g.get("request_id"), exc_info=error)
    message = f"Tollgate failed. The error is logged under this request's id, {g.request_id}."
    return _show(TollgateError(message))
