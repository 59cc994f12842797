"""A completion stream as server-sent events."""

import errno
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from app.api.frame_template import FrameTemplate
from app.formats import strict_json
from app.formats.sse import DONE, KEEP_ALIVE, error_frame, frame
from app.serving.stream import CompletionStream
from app.vocabulary.completion import Completion, Usage
from app.vocabulary.errors import Cancelled, TollgateError
from app.vocabulary.request import GenerationRequest

log = logging.getLogger(__name__)

STREAM_HEADERS: Mapping[str, str] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
}


class ChunkDumper(Protocol):
    """What makes JSON objects of the chunks of one stream."""

    def dump(self, chunk: Completion) -> list[dict[str, Any]]:
        """Return the objects of a chunk, mostly one, without their usage."""
        ...

    def usage(self, usage: Usage) -> dict[str, Any]:
        """Return a usage."""
        ...


class EventStreamBody:
    """The body of a streamed response; closing it records the request.

    `first` are the chunks that arrived before the response started ([] for none yet). `cost`
    returns the dollars that the usage has beside its tokens; with it, the usage always comes.
    `failed` reports an error, and returns its JSON. The terminator is a named event: one official
    client parses every unnamed event as JSON, and the other stops at `[DONE]` under any name.
    """

    def __init__(
        self,
        stream: CompletionStream,
        request: GenerationRequest,
        dumper: ChunkDumper,
        first: list[Completion] | None,
        *,
        keep_alive_s: float,
        cost: Callable[[], float | None] | None = None,
        failed: Callable[[TollgateError], bytes],
    ) -> None:
        self._stream = stream
        self._dumper = dumper
        self._include_usage = request.include_usage or cost is not None
        self._cost = cost
        self._reported = self._model = ""
        self._running_usage = bool((request.stream_options or {}).get("continuous_usage_stats"))
        self._first = first
        self._keep_alive_s = keep_alive_s
        self._failed = failed

    def __iter__(self) -> Iterator[bytes]:
        """Yield the frames that are available, joined.

        A failed stream ends with an error event and an aborted connection, without the final chunk
        of HTTP's encoding, so that no client mistakes a partial response for a complete one.
        """
        usual, chunks = FrameTemplate(self._frame), self._first
        while chunks is not None:
            try:
                frames = b"".join(map(usual.frame, chunks)) or KEEP_ALIVE
            except Exception as exc:  # noqa: BLE001 - it is sent, and raised
                self._stream.failed(exc)
                yield from self._aborted(exc)
            yield frames
            try:
                chunks = self._stream.take(self._keep_alive_s)
            except Cancelled as exc:
                raise aborted_connection() from exc
            except Exception as exc:  # noqa: BLE001 - it is sent, and raised
                yield from self._aborted(exc)
        if self._include_usage:
            yield self._frame(self._stream.usage_chunk, self._cost)
        yield DONE

    def close(self) -> None:
        """Record the request; the server always calls this."""
        self._stream.close()

    def _aborted(self, failure: Exception) -> Iterator[bytes]:
        yield error_frame(self._failed(as_api_error(failure)))
        raise aborted_connection() from failure

    def _frame(self, chunk: Completion, cost: Callable[[], float | None] | None = None) -> bytes:
        bodies = self._dumper.dump(chunk)
        if chunk.model is not self._reported:
            self._reported, self._model = chunk.model, self._stream.model(chunk.model)
        for body in bodies:
            body["model"] = self._model
        if self._include_usage:
            for body in bodies:
                body["usage"] = None
            if chunk.usage and (self._running_usage or not chunk.choices):
                bodies[-1]["usage"] = self._dumper.usage(chunk.usage)
        if cost is not None:
            bodies[-1]["usage"] = {**(bodies[-1]["usage"] or {}), "cost": cost()}
        return b"".join([frame(strict_json.dump(body)) for body in bodies])


def as_api_error(error: Exception) -> TollgateError:
    """Return the error that a stream ends with; one that is not Tollgate's own is logged."""
    if isinstance(error, TollgateError):
        return error
    log.error("unexpected error in a stream", exc_info=error)
    return TollgateError("Tollgate failed during the response.")


def aborted_connection() -> ConnectionResetError:
    """Return the exception with which a body ends without the final chunk of HTTP's encoding."""
    # After this exception alone, gunicorn closes the connection and logs no error.
    return ConnectionResetError(errno.ECONNRESET, "the stream was aborted")
