"""A WSGI application that does to its server what applications may do."""

import time
from collections.abc import Callable, Iterator
from typing import Any

#: More than the system and a client that does not read hold together.
LARGE = 32 * 1024 * 1024


def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
    """Answer as the path says."""
    answer = _PATHS[environ["PATH_INFO"]]
    return answer(environ, start_response)


def _ready(_: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("content-length", "5")])
    return [b"ready"]


def _body(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("content-length", str(len(body)))])
    return [body]


def _header(_: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    start_response("200 OK", [("x-broken", "a\nb")])
    return []


def _error(*_: object) -> list[bytes]:
    raise RuntimeError("the application failed")


def _large(_: dict[str, Any], start_response: Callable[..., Any]) -> Iterator[bytes]:
    start_response("200 OK", [])
    for _at in range(LARGE // 65536):
        yield b"x" * 65536


def _long(_: dict[str, Any], start_response: Callable[..., Any]) -> Iterator[bytes]:
    start_response("200 OK", [])
    yield b"first"
    time.sleep(3600)  # until the server ends it
    yield b"never"


_PATHS: dict[str, Callable[[dict[str, Any], Callable[..., Any]], Any]] = {
    "/readyz": _ready,
    "/body": _body,
    "/header": _header,
    "/error": _error,
    "/large": _large,
    "/long": _long,
}
