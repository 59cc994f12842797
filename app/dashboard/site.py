"""What every page of the dashboard has in common: its headers, its errors, and how it is shown.

Knows no figures; who may see a page is `sign_in`'s.
"""

import logging
from typing import Any

from flask import Blueprint, Response, g, make_response, render_template
from werkzeug.exceptions import HTTPException

from app.dashboard import formatting
from app.vocabulary.errors import TollgateError
from app.vocabulary.money import show_usd

log = logging.getLogger(__name__)

dashboard_blueprint = Blueprint(
    "dashboard",
    __name__,
    url_prefix="/dashboard",
    template_folder="templates",
    static_folder="static",
)

#: Nothing from elsewhere, no script and no style in a page, no page inside another.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)

for _word in (
    formatting.count,
    formatting.short_count,
    formatting.usd,
    show_usd,
    formatting.span,
    formatting.share,
    formatting.moment,
):
    dashboard_blueprint.app_template_filter(f"dashboard_{_word.__name__}")(_word)


def page(template: str, http_status: int = 200, **values: Any) -> Response:
    """Return a page; it is kept in no cache."""
    current_user = g.get("current_user")
    html = render_template(f"dashboard/{template}", current_user=current_user, **values)
    response = make_response(html, http_status)
    response.headers["cache-control"] = "no-store"
    return response


@dashboard_blueprint.after_request
def _harden(response: Response) -> Response:
    response.headers["content-security-policy"] = CONTENT_SECURITY_POLICY
    response.headers["x-content-type-options"] = "nosniff"
    # Not `no-referrer`: the browser would then send `Origin: null` with our own forms.
    response.headers["referrer-policy"] = "same-origin"
    response.headers["cross-origin-opener-policy"] = "same-origin"
    return response


@dashboard_blueprint.errorhandler(TollgateError)
def _show(error: TollgateError) -> Response:
    g.error_code = error.code
    return page("error.html", error.status, message=error.message)


@dashboard_blueprint.errorhandler(HTTPException)
def _show_http(error: HTTPException) -> Response:
    return page("error.html", error.code or 500, message=error.description or error.name)


@dashboard_blueprint.errorhandler(Exception)
def _show_unexpected(error: Exception) -> Response:
    log.error("unexpected error in %s", g.get("request_id"), exc_info=error)
    message = f"Tollgate failed; the fault is logged under this request's id, {g.request_id}."
    return _show(TollgateError(message))
