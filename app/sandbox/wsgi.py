"""The sandbox vendor over HTTP: `gunicorn app.sandbox.wsgi:app`."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from app.sandbox.chat.rendering import chat_response
from app.sandbox.chat.request import load_chat
from app.sandbox.echo import EchoChoice, answer, count_usage
from app.sandbox.errors import SandboxError
from app.sandbox.knobs import MODEL
from app.sandbox.pace import aborted, begin, frame, pause, streamed, whole
from app.sandbox.request import EchoRequest, load_request

app = Flask("sandbox", static_folder=None)


@app.post("/v1/completions")
def create_completion() -> Response:
    """Return a completion; nothing is stored."""
    echo_request = load_request(_body())
    begin(echo_request.knobs, request.get_data())
    choices = answer(echo_request)
    if echo_request.stream:
        return streamed(_stream(echo_request, choices))
    return _whole(echo_request, choices)


@app.post("/v1/chat/completions")
def create_chat_completion() -> Response:
    """Return a chat completion; nothing is stored."""
    echo_request = load_chat(_body())
    begin(echo_request.knobs, request.get_data())
    return chat_response(echo_request)


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
    """Render Flask's own errors (404, 405, 413) in OpenAI's shape, in the sandbox's words."""
    status = error.code or 500
    if status not in (404, 405):
        return render_error(SandboxError("The sandbox cannot serve this request.", status=status))
    routes = (f"`{'/'.join(_methods(rule))} {rule.rule}`" for rule in app.url_map.iter_rules())
    message = (
        f"The sandbox has no `{request.method[:16]} {request.path[:64]}`. It has "
        f"{', '.join(sorted(routes))}."
    )
    code = "not_found" if status == 404 else "method_not_allowed"
    return render_error(SandboxError(message, status=status, code=code))


def _methods(rule: Rule) -> list[str]:
    return sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})


@app.after_request
def add_request_id(response: Response) -> Response:
    """Add a request id, as OpenAI does."""
    response.headers["x-request-id"] = f"req_{uuid4().hex}"
    return response


def _body() -> Any:
    try:
        return json.loads(request.get_data())
    except json.JSONDecodeError as exc:
        message = f"The body is not JSON: {exc.msg}, at character {exc.pos + 1}."
        raise SandboxError(message, code="invalid_json") from exc
    except (ValueError, RecursionError) as exc:
        message = "The body is not JSON in UTF-8, or is nested too deep."
        raise SandboxError(message, code="invalid_json") from exc


def _whole(echo_request: EchoRequest, choices: Sequence[EchoChoice]) -> Response:
    words = max(len(choice.pieces) - choice.prompt_pieces for choice in choices)
    completion = _head() | {
        "choices": [_part(echo_request, choice, 0, None, last=True) for choice in choices],
        "usage": count_usage(echo_request, choices),
    }
    return whole(echo_request.knobs, completion, words, _longest(choices))


def _stream(echo_request: EchoRequest, choices: Sequence[EchoChoice]) -> Iterator[bytes]:
    """Yield the choices in parallel, one word of each at a time, then an end for each."""
    knobs, head = echo_request.knobs, _head()
    counted = {"usage": None} if echo_request.include_usage else {}
    for position in range(_longest(choices) + 1):
        if position == knobs.cut_after:
            yield from aborted()
        going = [choice for choice in choices if position <= len(choice.pieces)]
        if any(choice.prompt_pieces <= position < len(choice.pieces) for choice in going):
            pause(knobs)
        for choice in going:
            last = position == len(choice.pieces)
            part = _part(echo_request, choice, position, position + 1, last=last)
            yield frame(head | {"choices": [part]} | counted)
    if echo_request.include_usage:
        yield frame(head | {"choices": [], "usage": count_usage(echo_request, choices)})
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
