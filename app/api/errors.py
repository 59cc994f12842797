"""Renders every error of every route in OpenAI's shape, with stable codes."""

import logging
from collections.abc import Mapping

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from app.formats import strict_json
from app.usage.messages.event_id import new_event_id
from app.vocabulary.errors import InvalidRequest, RequestTooLarge, TollgateError

log = logging.getLogger(__name__)

#: HTTP status -> code, for requests that Flask itself rejects.
CODES: Mapping[int, str] = {
    404: "not_found",
    405: "method_not_allowed",
    415: "unsupported_media_type",
}


API = "/v5/"
#: For a client that asks for an endpoint of another API, such as `/v5/responses`.
DOORS = (
    "Models are called at `/v5/chat/completions` and `/v5/completions`;"
    " `/openapi.json` describes every endpoint."
)


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
    response = Response(strict_json.dump(error.body()), error.status, mimetype="application/json")
    response.headers.update(error.headers)
    return response


def _name_request() -> None:
    g.request_id = f"req_{new_event_id()}"


def _show_request_id(response: Response) -> Response:
    response.headers["x-request-id"] = g.get("request_id") or f"req_{new_event_id()}"
    return response


def _render_http(error: HTTPException) -> Response:
    status = error.code or 500
    if status == RequestTooLarge.status:
        return render(RequestTooLarge("The body is too large."))
    message, code = str(error.description or error.name), CODES.get(status)
    if status == 404 and request.path.startswith(API):
        message = f"There is no `{request.path[:64]}`. {DOORS}"
    mapped = InvalidRequest(message, code=code) if status < 500 else TollgateError(message)
    mapped.status = status
    response = render(mapped)
    for name, value in error.get_headers():
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = value
    return response


def _render_unexpected(error: Exception) -> Response:
    log.error("unexpected error in %s", g.get("request_id"), exc_info=error)
    return render(TollgateError("Tollgate failed. The error is logged under this request's id."))
