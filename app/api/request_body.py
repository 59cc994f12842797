"""Reads a request's body: decodes its content coding and enforces the size limit."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain

from flask import current_app, request

from app.formats.content_coding import BLOCK_BYTES, decoded
from app.vocabulary.errors import InvalidJSON, RequestTimeout, RequestTooLarge, TollgateError


def read_body() -> bytes:
    """Return the decoded body of the current request.

    Raises: RequestTooLarge (encoded or decoded), UnsupportedContentCoding, InvalidContentCoding,
    RequestTimeout, and InvalidJSON if it does not arrive completely.
    """
    limit: int = current_app.config["MAX_CONTENT_LENGTH"]
    length = request.content_length
    if length is not None and length > limit:
        raise _too_large(limit)
    pieces = _arriving(limit, length)
    coding = request.headers.get("content-encoding")
    try:
        if coding:  # an unknown one is rejected before the client is asked for the body
            return _joined(decoded(pieces, coding), limit)
        first = next(pieces, b"")
        return first if len(first) == length else _joined(chain((first,), pieces), limit)
    except TollgateError:
        raise
    except TimeoutError as exc:
        raise RequestTimeout("The request's body took too long to arrive.") from exc
    except Exception as exc:
        # Whatever the server raises here, the cause is the body (malformed chunks) or a client
        # that disconnected. Its exceptions are not imported: they are the server's own.
        raise InvalidJSON("The request's body is incomplete.") from exc


def _arriving(limit: int, length: int | None) -> Iterator[bytes]:
    """Yield the body as it arrives."""
    # werkzeug's wrapper would truncate the input of a server that ends it by itself.
    environ = request.environ
    ends = environ.get("wsgi.input_terminated")
    stream = environ["wsgi.input"] if ends else request.stream
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
        raise InvalidJSON("The request's body is incomplete.")


def _joined(pieces: Iterable[bytes], limit: int) -> bytes:
    body = io.BytesIO()
    for piece in pieces:
        if body.tell() + len(piece) > limit:
            raise _too_large(limit)
        body.write(piece)
    return body.getvalue()


def _too_large(limit: int) -> RequestTooLarge:
    return RequestTooLarge(f"The body is too large. The limit is {limit} bytes.")
