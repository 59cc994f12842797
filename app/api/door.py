"""Answers a request for generated text, whole or as a stream, whichever endpoint it came to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, g, request

from app.accounts.access import limits_of
from app.api.auth import authenticate, selected_account
from app.api.costs import in_usage, is_asked, set_cost
from app.api.disconnect import client_of
from app.api.errors import in_stream
from app.api.idempotency import is_keyed, respond_once
from app.api.json_response import JSONResponse
from app.api.mistakes.fields import explain_fields
from app.api.mistakes.headers import check_headers
from app.api.mistakes.models import explain_model
from app.api.request_body import read_body
from app.api.request_json import parsed
from app.api.sse_body import STREAM_HEADERS, ChunkDumper, EventStreamBody
from app.container import services
from app.formats import strict_json
from app.formats.json_size import SMALL_BYTES
from app.runtime.turns import give_turn
from app.serving.service import Answer
from app.serving.stream import CompletionStream
from app.usage.metering.request_context import RequestContext
from app.vocabulary.completion import Completion
from app.vocabulary.errors import Cancelled, InvalidRequest
from app.vocabulary.request import GenerationRequest

#: nginx's status for a client that has closed the connection; only the log shows it.
CLIENT_CLOSED_REQUEST = 499


@dataclass(frozen=True, slots=True)
class Door:
    """What an endpoint's JSON looks like.

    `load` checks a request, `dump` makes the body of a whole completion, and `chunks` what dumps
    the chunks of one stream.
    """

    load: Callable[[Mapping[str, Any]], GenerationRequest]
    dump: Callable[[Completion], Any]
    chunks: Callable[[], ChunkDumper]

    def respond(self) -> Response:
        """Answer the current request; it costs once, however often it is repeated with its key.

        Raises: TollgateError.
        """
        known, environ = services(), request.environ  # each use of a proxy costs a look-up
        key = authenticate("completions")
        account_id = selected_account(key, environ)
        check_headers(environ)
        body = read_body(environ, known.settings.body_limit_bytes)
        asked = self._loaded(body)
        if len(body) > SMALL_BYTES:
            give_turn()
        line = g.line
        context = RequestContext(
            request_id=line.request_id,
            account_id=account_id,
            api_key_id=key.key_id,
            client_retry_count=_retry_count(environ),
            limits=limits_of(key, account_id),
            trace=line.trace,
            observer=line,
        )
        answer, with_cost = (self._stream if asked.stream else self._whole), is_asked(environ)
        if not is_keyed(environ):
            return answer(asked, context, with_cost)
        return respond_once(account_id, body, asked, lambda: answer(asked, context, with_cost))

    def _loaded(self, body: bytes) -> GenerationRequest:
        fields = parsed(body)
        try:
            return self.load(fields)
        except InvalidRequest as exc:
            explain_fields(exc, fields)
            explain_model(exc, fields, services().vendors)
            raise

    def _whole(
        self, asked: GenerationRequest, context: RequestContext, with_cost: bool
    ) -> Response:
        known = services()
        answer = known.completions.complete(asked, context)
        try:
            body = self.dump(answer.completion)
            body["model"], cost = answer.model, answer.cost(known.prices)
            if with_cost:
                body["usage"]["cost"] = in_usage(cost)
            response = JSONResponse(strict_json.dump(body), content_type="application/json")
            set_cost(response, cost)
        except BaseException:
            answer.record()
            raise
        response.call_on_close(answer.record)  # after the last byte is sent
        return _with_headers(response, answer)

    def _stream(
        self, asked: GenerationRequest, context: RequestContext, with_cost: bool
    ) -> Response:
        known, environ = services(), request.environ
        # With an idempotency key, the vendor's response is read even if the client disconnects.
        client = None if is_keyed(environ) else client_of(environ)
        disconnected = None if client is None else client.has_disconnected
        stream = known.completions.stream(asked, context, disconnected)
        if client is not None:
            client.probe = stream.wake  # sends a comment, and with it the status line
        try:
            # The status line waits for the first chunk, so that an error keeps its own status.
            first = stream.take(known.settings.first_keep_alive_s)
        except Cancelled:
            stream.close()
            return Response(status=CLIENT_CLOSED_REQUEST)
        except BaseException:
            stream.close()
            raise
        body = EventStreamBody(
            stream,
            asked,
            self.chunks(),
            first,
            keep_alive_s=known.settings.keep_alive_s,
            cost=(lambda: in_usage(stream.cost(known.prices))) if with_cost else None,
            failed=in_stream(g.line.failed),
        )
        response = Response(body, headers=STREAM_HEADERS)
        return _with_headers(response, stream)


def _with_headers(response: Response, answer: Answer | CompletionStream) -> Response:
    """Add the attempt, rate-limit and dropped-parameter headers."""
    response.headers.add("x-tollgate-attempts", str(answer.attempts))
    if answer.limit_headers:
        response.headers.update(answer.limit_headers)
    if answer.dropped:
        response.headers["x-tollgate-dropped"] = ", ".join(answer.dropped)
    return response


def _retry_count(environ: Mapping[str, Any]) -> int:
    """Return how often the client's SDK has retried; 0 if it does not report it."""
    value = environ.get("HTTP_X_STAINLESS_RETRY_COUNT", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 6 else 0
