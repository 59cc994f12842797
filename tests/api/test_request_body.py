"""How a request's body is read: limits, codings, and bodies that do not arrive."""

import gzip
import io
from typing import Any

import pytest
from werkzeug.test import EnvironBuilder

from app.api.request_body import read_body
from app.vocabulary.errors import (
    InvalidContentCoding,
    InvalidJSON,
    RequestTimeout,
    RequestTooLarge,
    UnsupportedContentCoding,
)

LIMIT = 1000


def read(body: Any, **environ: Any) -> bytes:
    """Read the body of a request; `body` may be bytes or a stream."""
    stream = io.BytesIO(body) if isinstance(body, bytes) else body
    given = {"wsgi.input": stream, "wsgi.input_terminated": True, **environ}
    return read_body(
        EnvironBuilder("/", method="POST", environ_overrides=given).get_environ(), LIMIT
    )


class Failing(io.RawIOBase):
    """An input that raises after its first bytes."""

    def __init__(self, error: Exception) -> None:
        self._error: Exception | None = None
        self._next = error

    def read(self, _size: int = -1) -> bytes:
        """Return some bytes, then raise."""
        if self._error is not None:
            raise self._error
        self._error = self._next
        return b"{"


@pytest.mark.parametrize("length", [{"CONTENT_LENGTH": "4"}, {}])
def test_a_body_is_read_whole(length: dict[str, str]) -> None:
    assert read(b"body", **length) == b"body"


def test_a_server_that_does_not_end_its_input_is_read_to_the_length() -> None:
    assert read(b"bodymore", CONTENT_LENGTH="4", **{"wsgi.input_terminated": False}) == b"body"


def test_a_body_is_decoded() -> None:
    assert read(gzip.compress(b"body"), HTTP_CONTENT_ENCODING="gzip") == b"body"


@pytest.mark.parametrize(
    ("body", "environ"),
    [
        (b"", {"CONTENT_LENGTH": str(LIMIT + 1)}),
        (b"x" * (LIMIT + 1), {}),
        (gzip.compress(b" " * (LIMIT + 1)), {"HTTP_CONTENT_ENCODING": "gzip"}),
    ],
    ids=["announced", "as it arrives", "decoded"],
)
def test_a_body_over_the_limit_is_rejected(body: bytes, environ: dict[str, str]) -> None:
    with pytest.raises(RequestTooLarge, match=str(LIMIT)):
        read(body, **environ)


def test_a_body_of_exactly_the_limit_is_accepted() -> None:
    assert len(read(b"x" * LIMIT)) == LIMIT


def test_codings_are_rejected_if_unknown_or_wrong() -> None:
    with pytest.raises(UnsupportedContentCoding):
        read(b"x", HTTP_CONTENT_ENCODING="br")
    with pytest.raises(InvalidContentCoding):
        read(b"x", HTTP_CONTENT_ENCODING="gzip")


@pytest.mark.parametrize(
    ("error", "raised"), [(TimeoutError(), RequestTimeout), (ValueError("chunk"), InvalidJSON)]
)
def test_a_body_that_does_not_arrive_is_the_clients_error(
    error: Exception, raised: type[Exception]
) -> None:
    with pytest.raises(raised):
        read(Failing(error))


def test_a_body_that_is_shorter_than_announced_is_incomplete() -> None:
    with pytest.raises(InvalidJSON, match="incomplete"):
        read(b"bo", CONTENT_LENGTH="4")
