"""Runs a request with an `Idempotency-Key` once, and replays its response to retries."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from flask import Response, g, request

from app.api.disconnect import client_of
from app.api.errors import render
from app.api.idempotency_turn import Turn, joined
from app.api.sse_body import EventStreamBody, aborted_connection
from app.container import services
from app.formats.sse import DONE, KEEP_ALIVE
from app.usage.redis.idempotency_keys import BODY_LIMIT, FINAL, Claim, StoredResponse
from app.vocabulary.errors import (
    GatewayError,
    InvalidRequest,
    LimitReached,
    StreamUnavailable,
    TollgateError,
)
from app.vocabulary.request import GenerationRequest

#: The header, in WSGI's spelling.
_HEADER = "HTTP_IDEMPOTENCY_KEY"


def is_keyed(environ: Mapping[str, Any]) -> bool:
    """Return whether a WSGI request has an idempotency key."""
    return _HEADER in environ


def respond_once(
    account_id: str, body: bytes, asked: GenerationRequest, respond: Callable[[], Response]
) -> Response:
    """Return the response of `respond` to a keyed request; for a retry, the first one's response.

    A retry waits while the first request is running. A response is stored if it may have cost
    something. Requests that failed at no cost can be retried: one that waits then runs itself.
    Raises: InvalidRequest, IdempotencyConflict, StreamUnavailable, ShuttingDown, and what `respond`
    raises.
    """
    keys = services().idempotency
    claim = keys.prepare(account_id, request.environ[_HEADER], body, g.request_id)
    turn = Turn(keys, claim, services().completions, asked)
    limit_s = services().settings.first_keep_alive_s if asked.stream else math.inf
    found = turn.take(limit_s, client_of(request.environ))
    if found is None:
        return joined(turn, lambda found: _responded(found, respond))
    return _responded(found, respond)


def _responded(claim: Claim | StoredResponse, respond: Callable[[], Response]) -> Response:
    if isinstance(claim, StoredResponse):
        return _replayed(claim)
    try:
        response = respond()
    except TollgateError as exc:
        _store_error(claim, exc)
        raise
    except BaseException:  # its cost is unknown
        claim.store_nothing()
        raise
    if isinstance(response.response, EventStreamBody):
        response.response = RecordedBody(response.response, claim, response)
    else:  # before it is sent: a client that has received it can rely on the retry
        claim.store(response.status_code, _headers(response), response.get_data())
    return response


def _store_error(claim: Claim, error: TollgateError) -> None:
    if isinstance(error, GatewayError) and error.billable:
        error.headers |= FINAL
        response = render(error)
        claim.store(response.status_code, _headers(response), response.get_data())
    elif isinstance(error, GatewayError | InvalidRequest | LimitReached | StreamUnavailable):
        claim.release()
    else:
        claim.store_nothing()


class RecordedBody:
    """A streamed body that is stored while it is sent, without keep-alive comments.

    If the client disconnects, the stream is still read to its end, so that a retry gets the
    complete response.
    """

    def __init__(self, body: EventStreamBody, claim: Claim, response: Response) -> None:
        self._body = body
        self._claim = claim
        self._status, self._headers = response.status_code, _headers(response)
        self._frames_sent: list[bytes] = []
        self._size = 0
        self._frames = self._read()

    def __iter__(self) -> Iterator[bytes]:
        return self._frames

    def close(self) -> None:
        """Read the rest, if it is small enough to be stored, and record the request."""
        try:
            with suppress(ConnectionResetError):
                while self._size <= BODY_LIMIT and next(self._frames, None) is not None:
                    pass
        finally:
            self._claim.store_nothing()  # does nothing if the response has been stored
            self._body.close()

    def _read(self) -> Iterator[bytes]:
        try:
            for frame in self._body:
                if frame != KEEP_ALIVE and self._size <= BODY_LIMIT:
                    self._frames_sent.append(frame)
                    self._size += len(frame)
                if frame == DONE:  # before it is sent: a client that has it can rely on the retry
                    self._store()
                yield frame
        except ConnectionResetError as exc:
            failure = exc.__cause__
            if isinstance(failure, GatewayError) and not failure.billable:
                self._claim.release()
            else:
                self._store(is_cut=True)
            raise

    def _store(self, *, is_cut: bool = False) -> None:
        body = b"".join(self._frames_sent)
        self._claim.store(self._status, self._headers, body, is_cut=is_cut)


def _replayed(kept: StoredResponse) -> Response:
    body = _aborted_after(kept.body) if kept.is_cut else kept.body
    response = Response(body, kept.status, list(kept.headers))
    response.headers["x-tollgate-replay-of"] = kept.request_id
    return response


def _aborted_after(body: bytes) -> Iterator[bytes]:
    yield body
    raise aborted_connection()


def _headers(response: Response) -> list[tuple[str, str]]:
    """Return the headers to store: all except `content-length`, rate limits and budget warnings."""
    return [(name, value) for name, value in response.headers if not _is_transient(name.lower())]


def _is_transient(name: str) -> bool:
    limits = name.startswith("x-ratelimit-") or name == "x-tollgate-budget-warning"
    return limits or name == "content-length"
