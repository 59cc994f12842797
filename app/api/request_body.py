"""A request's body: as its caller wrote it, without its codings, and never beyond the limit."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain

from flask import current_app, request

from app.formats.content_coding import BLOCK_BYTES, decoded
from app.vocabulary.errors import InvalidJSON, RequestTimeout, RequestTooLarge, TollgateError


def read_body() -> bytes:
    """Return the body of the current request, its content coding undone.

    Raises: RequestTooLarge, as it comes or decoded; UnsupportedContentCoding;
    InvalidContentCoding; RequestTimeout; InvalidJSON when it does not arrive whole.
    """
    limit: int = current_app.config["MAX_CONTENT_LENGTH"]
    length = request.content_length
    if length is not None and length > limit:
        raise _too_large(limit)
    pieces = _arriving(limit, length)
    coding = request.headers.get("content-encoding")
    try:
        if coding:  # an unknown one is refused before its body is asked for
            return _joined(decoded(pieces, coding), limit)
        first = next(pieces, b"")
        return first if len(first) == length else _joined(chain((first,), pieces), limit)
    except TollgateError:
        raise
    except TimeoutError as exc:
        raise RequestTimeout("The request's body takes too long to arrive.") from exc
    except Exception as exc:
        # Reading is all that was tried: whatever the server raises, the body is what is broken
        # (its chunked encoding, or its caller that left), and no name of the server's is ours.
        raise InvalidJSON("The request's body broke off.") from exc


def _arriving(limit: int, length: int | None) -> Iterator[bytes]:
    """Yield the body as it comes."""
    # A server that ends the input by itself needs no help of werkzeug's, which cuts it off.
    ends = request.environ.get("wsgi.input_terminated")
    stream = request.environ["wsgi.input"] if ends else request.stream
    size, step = 0, min(length or BLOCK_BYTES, BLOCK_BYTES)
    while size != length:
        piece = stream.read(step)
        if not piece:
            break
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        yield piece
    if length is not None and size < length:
        raise InvalidJSON("The request's body broke off.")


def _joined(pieces: Iterable[bytes], limit: int) -> bytes:
    body = io.BytesIO()
    for piece in pieces:
        if body.tell() + len(piece) > limit:
            raise _too_large(limit)
        body.write(piece)
    return body.getvalue()


def _too_large(limit: int) -> RequestTooLarge:
    return RequestTooLarge(f"The body is too large: the limit is {limit} bytes.")
