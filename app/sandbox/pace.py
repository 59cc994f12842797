"""What both endpoints do over HTTP: the failures and delays that were asked for, and frames."""

import errno
import json
import time
from collections.abc import Iterator
from typing import Any

from flask import Response

from app.sandbox.errors import SandboxError
from app.sandbox.first_tries import FirstTries
from app.sandbox.knobs import Knobs

#: The status of a failure for which no other was asked.
STATUS = 503

_first_tries = FirstTries()


def begin(knobs: Knobs, body: bytes) -> None:
    """Wait, or fail, as the knobs say. Requests with equal bodies are tries of one."""
    time.sleep(knobs.hang_s)  # the delay that was asked for
    if knobs.fail_first is None:
        if knobs.status is None:
            return
        message = f"The sandbox was asked to fail with status {knobs.status}."
    else:
        if not _first_tries.fails(body, knobs.fail_first):
            return
        message = f"The sandbox was asked to fail {knobs.fail_first} times, and then to succeed."
    headers = {} if knobs.retry_after is None else {"retry-after": str(knobs.retry_after)}
    status = knobs.status or STATUS
    raise SandboxError(message, status=status, code="sandbox_status", headers=headers)


def whole(knobs: Knobs, completion: Any, words: int, longest: int) -> Response:
    """Return a response that is not streamed, after the pauses before its words.

    `words` were generated for the longest choice, which has `longest` with an echoed prompt.
    """
    time.sleep(words * knobs.delay_ms / 1000)  # the pace that was asked for
    body = json.dumps(completion).encode()
    cut = knobs.cut_after is not None and knobs.cut_after <= longest
    response = Response(aborted(body[: len(body) // 2]) if cut else body)
    response.content_type, response.content_length = "application/json", len(body)
    return response


def streamed(frames: Iterator[bytes]) -> Response:
    """Return a streamed response."""
    return Response(frames, content_type="text/event-stream")


def pause(knobs: Knobs) -> None:
    """Wait before a word."""
    time.sleep(knobs.delay_ms / 1000)  # the pace that was asked for


def frame(payload: dict[str, Any]) -> bytes:
    """Return an event of a stream."""
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def aborted(sent: bytes = b"") -> Iterator[bytes]:
    """Yield `sent`, then abort: gunicorn closes the connection without a proper end."""
    if sent:
        yield sent
    raise ConnectionResetError(errno.ECONNRESET, "asked to abort")
