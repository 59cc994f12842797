"""How a request's body is read: limits, codings, and bodies that do not arrive."""

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask

from app.api.request_body import read_body
from app.vocabulary.errors import (
    InvalidContentCoding,
    InvalidJSON,
    RequestTimeout,
    RequestTooLarge,
    UnsupportedContentCoding,
)

LIMIT = 1000


@contextmanager
def request(body: Any, **environ: Any) -> Iterator[None]:
    """Have a request with this body, which may be bytes or a stream."""
    app = Flask("body")
    app.config["MAX_CONTENT_LENGTH"] = LIMIT
    stream = io.BytesIO(body) if isinstance(body, bytes) else body
    given = {"wsgi.input": stream, "wsgi.input_terminated": True, **environ}
    with app.test_request_context("/", method="POST", environ_overrides=given):
        yield


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
    with request(b"body", **length):
        assert read_body() == b"body"


def test_a_server_that_does_not_end_its_input_is_read_to_the_length() -> None:
    with request(b"bodymore", CONTENT_LENGTH="4", **{"wsgi.input_terminated": False}):
        assert read_body() == b"body"


def test_a_body_is_decoded() -> None:
    with request(gzip.compress(b"body"), HTTP_CONTENT_ENCODING="gzip"):
        assert read_body() == b"body"


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
    with request(body, **environ), pytest.raises(RequestTooLarge, match=str(LIMIT)):
        read_body()


def test_a_body_of_exactly_the_limit_is_accepted() -> None:
    with request(b"x" * LIMIT):
        assert len(read_body()) == LIMIT


def test_codings_are_rejected_if_unknown_or_wrong() -> None:
    with request(b"x", HTTP_CONTENT_ENCODING="br"), pytest.raises(UnsupportedContentCoding):
        read_body()
    with request(b"x", HTTP_CONTENT_ENCODING="gzip"), pytest.raises(InvalidContentCoding):
        read_body()


@pytest.mark.parametrize(
    ("error", "raised"), [(TimeoutError(), RequestTimeout), (ValueError("chunk"), InvalidJSON)]
)
def test_a_body_that_does_not_arrive_is_the_clients_error(
    error: Exception, raised: type[Exception]
) -> None:
    with request(Failing(error)), pytest.raises(raised):
        read_body()


def test_a_body_that_is_shorter_than_announced_is_incomplete() -> None:
    with request(b"bo", CONTENT_LENGTH="4"), pytest.raises(InvalidJSON, match="incomplete"):
        read_body()
