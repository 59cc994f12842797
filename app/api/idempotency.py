"""Answering a request once: what its `Idempotency-Key` asks for."""

from collections.abc import Callable, Iterator
from contextlib import suppress

from flask import Response, g, request

from app.api.errors import render
from app.api.sse_body import EventStreamBody, cut
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

HEADER = "idempotency-key"


def is_keyed() -> bool:
    """Say whether the current request has an idempotency key."""
    return HEADER in request.headers


def respond_once(account_id: str, body: bytes, answer: Callable[[], Response]) -> Response:
    """Return what `answer` returns, or for a repeated request what was answered first.

    An answer is kept when it may have cost something. What failed at no cost may be repeated.
    Raises: InvalidRequest, IdempotencyConflict, StreamUnavailable, and what `answer` raises.
    """
    if not is_keyed():
        return answer()
    claim = services().idempotency.claim(account_id, request.headers[HEADER], body, g.request_id)
    if isinstance(claim, StoredResponse):
        return _repeated(claim)
    try:
        response = answer()
    except TollgateError as exc:
        _keep_error(claim, exc)
        raise
    except BaseException:  # what it cost is not known
        claim.store_nothing()
        raise
    if isinstance(response.response, EventStreamBody):
        response.response = RecordedBody(response.response, claim, response)
    else:  # before it is sent, so that a caller that has it can count on it
        claim.store(response.status_code, _headers(response), response.get_data())
    return response


def _keep_error(claim: Claim, error: TollgateError) -> None:
    if isinstance(error, GatewayError) and error.billable:
        error.headers |= FINAL
        response = render(error)
        claim.store(response.status_code, _headers(response), response.get_data())
    elif isinstance(error, GatewayError | InvalidRequest | LimitReached | StreamUnavailable):
        claim.release()
    else:
        claim.store_nothing()


class RecordedBody:
    """A streamed body that is kept as it is sent, but for the keep-alive comments.

    A caller that leaves does not end it: what it paid for is read to the end, and waits for it.
    """

    def __init__(self, body: EventStreamBody, claim: Claim, response: Response) -> None:
        self._body = body
        self._claim = claim
        self._status, self._headers = response.status_code, _headers(response)
        self._kept: list[bytes] = []
        self._size = 0
        self._frames = self._read()

    def __iter__(self) -> Iterator[bytes]:
        """Return the frames."""
        return self._frames

    def close(self) -> None:
        """Read the rest, if somebody can get it later, and record the request."""
        try:
            with suppress(ConnectionResetError):
                while self._size <= BODY_LIMIT and next(self._frames, None) is not None:
                    pass
        finally:
            self._claim.store_nothing()  # unless the answer has been kept
            self._body.close()

    def _read(self) -> Iterator[bytes]:
        try:
            for frame in self._body:
                if frame != KEEP_ALIVE and self._size <= BODY_LIMIT:
                    self._kept.append(frame)
                    self._size += len(frame)
                if frame == DONE:  # before it is sent, so that a caller that has it can count on it
                    self._keep()
                yield frame
        except ConnectionResetError as exc:
            failure = exc.__cause__
            if isinstance(failure, GatewayError) and not failure.billable:
                self._claim.release()
            else:
                self._keep(is_cut=True)
            raise

    def _keep(self, *, is_cut: bool = False) -> None:
        body = b"".join(self._kept)
        self._claim.store(self._status, self._headers, body, is_cut=is_cut)


def _repeated(kept: StoredResponse) -> Response:
    body = _cut_after(kept.body) if kept.is_cut else kept.body
    response = Response(body, kept.status, list(kept.headers))
    response.headers["x-tollgate-replay-of"] = kept.request_id
    return response


def _cut_after(body: bytes) -> Iterator[bytes]:
    yield body
    raise cut()


def _headers(response: Response) -> list[tuple[str, str]]:
    """Return the headers that an answer has of itself, and not of its journey or its time."""
    return [(name, value) for name, value in response.headers if not _passes(name.lower())]


def _passes(name: str) -> bool:
    limits = name.startswith("x-ratelimit-") or name == "x-tollgate-budget-warning"
    return limits or name == "content-length"
