"""Lets a request wait while another one with its idempotency key is running.

It waits for the end of the other request, also of a stream, and not for its chunks: only then is
it known whether the other one is the first (its response is replayed) or has failed at no cost, or
crashed (one of those that wait runs itself). A stream that waits sends keep-alive comments.
"""

import time
from collections.abc import Callable, Iterator

from flask import Response, g, stream_with_context

from app.api.disconnect import ClientConnection
from app.api.errors import in_stream
from app.api.sse_body import STREAM_HEADERS, aborted_connection, as_api_error
from app.container import services
from app.formats.sse import KEEP_ALIVE, error_frame
from app.serving.service import CompletionService
from app.usage.redis.idempotency_keys import Claim, IdempotencyKeys, StoredResponse
from app.vocabulary.errors import IdempotencyInProgress
from app.vocabulary.request import GenerationRequest

#: The pause between two attempts is this share of the time waited, within these limits in seconds:
#: a response comes at most a tenth later than it could, and one that waits long asks seldom.
PAUSE_SHARE, PAUSE_MIN_S, PAUSE_MAX_S = 0.1, 0.02, 1.0

#: The status of a stream that has begun.
STARTED = 200


class Turn:
    """The turn of one request under its idempotency key."""

    def __init__(
        self,
        keys: IdempotencyKeys,
        claim: Claim,
        completions: CompletionService,
        asked: GenerationRequest,
    ) -> None:
        self._keys = keys
        self._claim = claim
        self._completions = completions
        self._asked = asked
        self._started_s = time.monotonic()

    def take(
        self, limit_s: float, client: ClientConnection | None = None
    ) -> Claim | StoredResponse | None:
        """Return the first request's response, or the claim to run now; None after `limit_s`.

        Raises: IdempotencyInProgress after the longest that the vendor may take, or if the client
        has hung up; ShuttingDown, and what `IdempotencyKeys.attempt` raises.
        """
        until_s = time.monotonic() + limit_s
        while True:
            try:
                return self._keys.attempt(self._claim)
            except IdempotencyInProgress:
                if self._is_over(client):
                    raise
            pause_s = min(self._pause_s(), until_s - time.monotonic())
            if pause_s <= 0:
                return None
            time.sleep(pause_s)  # between two attempts, with a deadline

    def _is_over(self, client: ClientConnection | None) -> bool:
        """Whether to wait no longer. A client that only ended its sending side gets the error."""
        self._completions.raise_if_shutting_down()
        waited_s = time.monotonic() - self._started_s
        has_left = client is not None and client.sends_no_more()
        return has_left or waited_s >= self._completions.patience_s(self._asked)

    def _pause_s(self) -> float:
        waited_s = time.monotonic() - self._started_s
        return min(max(waited_s * PAUSE_SHARE, PAUSE_MIN_S), PAUSE_MAX_S)


def joined(turn: Turn, responded: Callable[[Claim | StoredResponse], Response]) -> Response:
    """Return a stream that begins while another request is running: comments, then its own body.

    `responded` returns the response once the turn has come. An error is an event of the stream,
    which is then aborted, as after any other beginning.
    """
    keep_alive_s = services().settings.keep_alive_s
    failed = in_stream(g.line.failed)

    def frames() -> Iterator[bytes]:
        yield KEEP_ALIVE
        try:
            while (found := turn.take(keep_alive_s)) is None:
                yield KEEP_ALIVE
            response = responded(found)
        except Exception as exc:
            yield error_frame(failed(as_api_error(exc)))
            raise aborted_connection() from exc
        try:
            yield from _body(response)
        finally:
            response.close()

    return Response(stream_with_context(frames()), headers=STREAM_HEADERS)


def _body(response: Response) -> Iterator[bytes]:
    """Yield the body of a stream, or that of its error, as an event."""
    if response.status_code != STARTED:
        yield error_frame(response.get_data())
        raise aborted_connection()
    # Not `yield from`: it would close what `close` reads to the end if the client hangs up.
    for frame in response.response:  # noqa: UP028
        yield frame  # type: ignore[misc]
