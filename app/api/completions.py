"""`POST /v5/completions`."""

from flask import Blueprint, Response, g, request

from app.accounts.access import limits_of
from app.api.auth import authenticate, selected_account
from app.api.disconnect import client_of
from app.api.errors import in_stream
from app.api.idempotency import is_keyed, respond_once
from app.api.request_body import read_body
from app.api.schemas.completion import dump_completion, load_completion_request
from app.api.sse_body import STREAM_HEADERS, EventStreamBody
from app.container import services
from app.formats import strict_json
from app.formats.json_size import SMALL_BYTES
from app.runtime.turns import give_turn
from app.serving.service import Answer
from app.serving.stream import CompletionStream
from app.usage.metering.request_context import RequestContext
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import Cancelled

completions_blueprint = Blueprint("completions", __name__)

#: nginx's status for a client that has closed the connection; only the log shows it.
CLIENT_CLOSED_REQUEST = 499


@completions_blueprint.post("/v5/completions")
def create_completion() -> Response:
    """Complete a prompt; respond with one object or a stream."""
    key = authenticate("completions")
    account_id = selected_account(key)
    body = read_body()
    completion_request = load_completion_request(strict_json.load_request(body))
    if len(body) > SMALL_BYTES:
        give_turn()
    context = RequestContext(
        request_id=g.request_id,
        account_id=account_id,
        api_key_id=key.key_id,
        client_retry_count=_retry_count(),
        limits=limits_of(key, account_id),
        trace=g.line.trace,
        observer=g.line,
    )
    answer = _stream if completion_request.stream else _whole
    return respond_once(account_id, body, lambda: answer(completion_request, context))


def _whole(completion_request: CompletionRequest, context: RequestContext) -> Response:
    answer = services().completions.complete(completion_request, context)
    try:
        response = Response(
            strict_json.dump(dump_completion(answer.completion)), mimetype="application/json"
        )
    except BaseException:
        answer.record()
        raise
    response.call_on_close(answer.record)  # after the last byte is sent
    return _with_headers(response, answer)


def _stream(completion_request: CompletionRequest, context: RequestContext) -> Response:
    settings = services().settings
    # With an idempotency key, the vendor's response is read even if the client disconnects.
    client = None if is_keyed() else client_of(request.environ)
    disconnected = None if client is None else client.has_disconnected
    stream = services().completions.stream(completion_request, context, disconnected)
    if client is not None:
        client.probe = stream.wake  # sends a comment, and with it the status line
    try:
        # The status line waits for the first chunk, so that an error keeps its own status.
        first = stream.take(settings.first_keep_alive_s)
    except Cancelled:
        stream.close()
        return Response(status=CLIENT_CLOSED_REQUEST)
    except BaseException:
        stream.close()
        raise
    failed = in_stream(g.line.failed)
    body = EventStreamBody(stream, completion_request, first, settings.keep_alive_s, failed)
    response = Response(body, headers=STREAM_HEADERS)
    return _with_headers(response, stream)


def _with_headers(response: Response, answer: Answer | CompletionStream) -> Response:
    """Add the attempt, rate-limit and dropped-parameter headers."""
    response.headers["x-tollgate-attempts"] = str(answer.attempts)
    response.headers.update(answer.limit_headers)
    if answer.dropped:
        response.headers["x-tollgate-dropped"] = ", ".join(answer.dropped)
    return response


def _retry_count() -> int:
    """Return how often the client's SDK has retried; 0 if it does not report it."""
    value = request.headers.get("x-stainless-retry-count", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else 0
