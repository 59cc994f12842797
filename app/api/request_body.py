"""Reads a request's body: decodes its content coding and enforces the size limit."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from werkzeug.wsgi import get_content_length

from app.formats.content_coding import BLOCK_BYTES, decoded
from app.vocabulary.errors import InvalidJSON, RequestTimeout, RequestTooLarge, TollgateError


def read_body(environ: dict[str, Any], limit: int) -> bytes:
    """Return the decoded body of a WSGI request, of at most `limit` bytes.

    Raises: RequestTooLarge (encoded or decoded), UnsupportedContentCoding, InvalidContentCoding,
    RequestTimeout, and InvalidJSON if it does not arrive completely.
    """
    length = get_content_length(environ)
    if length is not None and length > limit:
        raise _too_large(limit)
    pieces = _arriving(environ, limit, length)
    coding = environ.get("HTTP_CONTENT_ENCODING")
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


def _arriving(environ: dict[str, Any], limit: int, length: int | None) -> Iterator[bytes]:
    """Yield the body as it arrives."""
    if length is None and not environ.get("wsgi.input_terminated"):
        length = 0  # nothing shows where the body ends
    stream, size = environ["wsgi.input"], 0
    while size != length:
        piece = stream.read(BLOCK_BYTES if length is None else min(length - size, BLOCK_BYTES))
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
