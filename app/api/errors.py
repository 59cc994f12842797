"""Renders every error of every route in OpenAI's shape, with stable codes."""

import logging
from collections.abc import Callable
from typing import Any

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from app.api.http_errors import from_http
from app.api.mistakes.keys import hidden
from app.api.origin import origin
from app.formats import strict_json
from app.usage.messages.event_id import new_event_id
from app.vocabulary.errors import InvalidRequest, TollgateError

log = logging.getLogger(__name__)

#: The page that explains each code, below its heading.
ERRORS_PAGE = "/docs/errors"


def register_errors(app: Flask) -> None:
    """Install the error handlers, and add `x-request-id` to every response."""
    app.before_request(_name_request)
    app.register_error_handler(TollgateError, render)
    app.register_error_handler(HTTPException, _render_http)
    app.register_error_handler(Exception, _render_unexpected)
    app.after_request(_show_request_id)


def render(error: TollgateError) -> Response:
    """Return the response for an error."""
    g.error_code, g.refusal_reason = error.code, error.refusal_reason
    body = _body(error, _request_id(), request.environ)
    response = Response(body, error.status, mimetype="application/json")
    response.headers.update(error.headers)
    return response


def in_stream(report: Callable[[TollgateError], None]) -> Callable[[TollgateError], bytes]:
    """Return a function that reports an error of the current request's stream, and dumps it.

    It is called when the request's context is gone.
    """
    request_id, environ = _request_id(), request.environ

    def failed(error: TollgateError) -> bytes:
        report(error)
        return _body(error, request_id, environ)

    return failed


def _body(error: TollgateError, request_id: str, environ: dict[str, Any]) -> bytes:
    doc_url = f"{origin(environ)}{ERRORS_PAGE}#{error.anchor}"
    fields = error.body(request_id=request_id, doc_url=doc_url)
    if isinstance(error, InvalidRequest):  # it may repeat names of the caller's
        fields = _on_one_line(fields)
    body = strict_json.dump(fields)
    # A caller may have put a key where a message repeats it: in a path, or as a field's name.
    return hidden(body.decode()).encode()


def _on_one_line(value: Any) -> Any:
    """Return JSON whose texts have `?` for line breaks and other characters that cannot be seen."""
    if isinstance(value, dict):
        return {name: _on_one_line(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_on_one_line(it) for it in value]
    if isinstance(value, str) and not value.isprintable():
        return "".join(it if it.isprintable() else "?" for it in value)
    return value


def _name_request() -> None:
    g.request_id = f"req_{new_event_id()}"


def _request_id() -> str:
    """Return the id of the current request; one that fails early gets it here."""
    found: str | None = g.get("request_id")
    if found is None:
        _name_request()
        found = g.request_id
    return found


def _show_request_id(response: Response) -> Response:
    response.headers["x-request-id"] = _request_id()
    return response


def _render_http(error: HTTPException) -> Response:
    response = render(from_http(error))
    for name, value in error.get_headers():
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = value
    return response


def _render_unexpected(error: Exception) -> Response:
    log.error("unexpected error in %s", g.get("request_id"), exc_info=error)
    return render(TollgateError("Tollgate failed. The error is logged under this request's id."))
