"""The sandbox vendor over HTTP: `gunicorn app.sandbox.wsgi:app`."""

import errno
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import BadRequest, HTTPException

from app.sandbox.echo import EchoChoice, answer, count_usage
from app.sandbox.errors import SandboxError
from app.sandbox.knobs import MODEL, Knobs
from app.sandbox.request import EchoRequest, load_request

app = Flask("sandbox")


@app.post("/v1/completions")
def create_completion() -> Response:
    """Return a completion; nothing is stored."""
    try:
        body = request.get_json(force=True)
    except (BadRequest, RecursionError) as exc:
        raise SandboxError("The body is not JSON.") from exc
    echo_request = load_request(body)
    time.sleep(echo_request.knobs.hang_s)  # the delay that was asked for
    _fail_if_asked(echo_request.knobs)
    choices = answer(echo_request)
    if echo_request.stream:
        return Response(_stream(echo_request, choices), content_type="text/event-stream")
    return _whole(echo_request, choices)


@app.get("/v1/models")
def list_models() -> Response:
    """List the only model."""
    model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "tollgate"}
    return jsonify({"object": "list", "data": [model]})


@app.errorhandler(SandboxError)
def render_error(error: SandboxError) -> Response:
    """Render an error in OpenAI's shape."""
    response = jsonify(error.body())
    response.status_code = error.status
    response.headers.update(error.headers)
    return response


@app.errorhandler(HTTPException)
def render_http_exception(error: HTTPException) -> Response:
    """Render Flask's own errors (404, 405, 413) in OpenAI's shape."""
    return render_error(SandboxError(str(error.description), status=error.code or 500))


@app.after_request
def add_request_id(response: Response) -> Response:
    """Add a request id, as OpenAI does."""
    response.headers["x-request-id"] = f"req_{uuid4().hex}"
    return response


def _fail_if_asked(knobs: Knobs) -> None:
    if knobs.status is None:
        return
    headers = {} if knobs.retry_after is None else {"retry-after": str(knobs.retry_after)}
    message = f"The sandbox was asked to fail with status {knobs.status}."
    raise SandboxError(message, status=knobs.status, code="sandbox_status", headers=headers)


def _whole(echo_request: EchoRequest, choices: Sequence[EchoChoice]) -> Response:
    knobs = echo_request.knobs
    cut = knobs.cut_after is not None and knobs.cut_after <= _longest(choices)
    words = max(len(choice.pieces) - choice.prompt_pieces for choice in choices)
    time.sleep(words * knobs.delay_ms / 1000)  # the pace that was asked for, of the longest choice
    completion = _head() | {
        "choices": [_part(echo_request, choice, 0, None, last=True) for choice in choices],
        "usage": count_usage(echo_request, choices),
    }
    body = json.dumps(completion).encode()
    response = Response(_aborted(body[: len(body) // 2]) if cut else body)
    response.content_type, response.content_length = "application/json", len(body)
    return response


def _stream(echo_request: EchoRequest, choices: Sequence[EchoChoice]) -> Iterator[bytes]:
    """Yield the choices in parallel, one word of each at a time, then an end for each."""
    knobs, head = echo_request.knobs, _head()
    counted = {"usage": None} if echo_request.include_usage else {}
    for position in range(_longest(choices) + 1):
        if position == knobs.cut_after:
            yield from _aborted()
        going = [choice for choice in choices if position <= len(choice.pieces)]
        if any(choice.prompt_pieces <= position < len(choice.pieces) for choice in going):
            time.sleep(knobs.delay_ms / 1000)  # the pace that was asked for
        for choice in going:
            last = position == len(choice.pieces)
            part = _part(echo_request, choice, position, position + 1, last=last)
            yield _frame(head | {"choices": [part]} | counted)
    if echo_request.include_usage:
        yield _frame(head | {"choices": [], "usage": count_usage(echo_request, choices)})
    yield b"data: [DONE]\n\n"


def _part(
    echo_request: EchoRequest, choice: EchoChoice, start: int, end: int | None, *, last: bool
) -> dict[str, Any]:
    pieces = choice.pieces[start:end]
    return {
        "text": "".join(pieces),
        "index": choice.index,
        "logprobs": choice.logprobs(echo_request.logprobs, start, end)
        if pieces or end is None
        else None,
        "finish_reason": choice.finish_reason if last else None,
    }


def _head() -> dict[str, Any]:
    return {
        "id": f"cmpl-{uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": MODEL,
    }


def _longest(choices: Sequence[EchoChoice]) -> int:
    return max(len(choice.pieces) for choice in choices)


def _frame(payload: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def _aborted(sent: bytes = b"") -> Iterator[bytes]:
    """Yield `sent`, then abort: gunicorn closes the connection without a proper end."""
    if sent:
        yield sent
    raise ConnectionResetError(errno.ECONNRESET, "asked to abort")
