"""What Flask and werkzeug reject by themselves, in Tollgate's words."""

import re
from collections.abc import Iterable

from flask import current_app, request
from werkzeug.exceptions import HTTPException

from app.api.mistakes.clients import client_of
from app.api.mistakes.paths import Routes, no_such_path, wrong_method
from app.api.origin import origin
from app.vocabulary.errors import InvalidHTTP, RequestTooLarge, TollgateError

#: Methods that Flask adds to routes.
_ADDED = frozenset({"HEAD", "OPTIONS"})

#: A part of a rule that varies, such as `<path:model_id>`.
_PART = re.compile(r"<(?:[^:<>]+:)?(\w+)>")

_DASHBOARD = "/dashboard"

#: Status -> why, for what the API's own routes never raise.
_REASONS = {
    400: "The request cannot be read: its URL, a header or its form is malformed.",
    415: "The content type of the request is not supported. Send `application/json`.",
}


def from_http(error: HTTPException) -> TollgateError:
    """Return an error of Flask's as one of ours; its own sentence reaches nobody."""
    status, at = error.code or 500, origin(request.environ)
    if status == 404:
        client = client_of(dict(request.headers.items(lower=True)))
        return no_such_path(request.method, request.path, _routes(), at, client)
    if status == 405:
        return wrong_method(request.method, request.path, _allowed(request.path), at)
    if status == RequestTooLarge.status:
        return RequestTooLarge("The body is too large.")
    if status >= 500:
        ours = TollgateError("Tollgate cannot serve this request.")
    else:
        words = _REASONS.get(status, f"Tollgate does not accept this request (HTTP {status}).")
        ours = InvalidHTTP(words)
    ours.status = status
    return ours


def _routes() -> Routes:
    """Return the routes of the application; of the dashboard, its address alone."""
    paths: dict[str, tuple[str, ...]] = {}
    for rule in current_app.url_map.iter_rules():
        if rule.rule != "/" and not _is_below(rule.rule):
            shown = _PART.sub(r"{\1}", rule.rule)
            paths[shown] = (*paths.get(shown, ()), *_own(rule.methods or ()))
    return Routes(paths, lambda path: [] if _is_below(path) else _allowed(path))


def _is_below(path: str) -> bool:
    """Whether a path is one of the dashboard's, where every path leads to some page."""
    return path.startswith(f"{_DASHBOARD}/")


def _allowed(path: str) -> list[str]:
    """Return the methods of the route at a path; [] if there is none."""
    return sorted(_own(current_app.url_map.bind("localhost").allowed_methods(path)))


def _own(methods: Iterable[str]) -> set[str]:
    return set(methods) - _ADDED
