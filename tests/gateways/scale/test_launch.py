"""Launch's tasks as bytes: OpenAI's format, wrapped."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.transport.auth.schemes import authenticated
from app.vocabulary.completion import Choice, Usage
from app.vocabulary.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorTimeout,
)
from tests.gateways.openai.wire import told
from tests.gateways.rows import Row, bodies, json_values
from tests.support.vendor import Asked, body_of, choice, usage_of
from tests.support.vendors.base import Said
from tests.support.vendors.llmengine import BASIC, ERRORS, PING, LaunchWire, sse

ROW = Row("launch", "LAUNCH_API_KEY", native=True, base_url="https://launch.example/v1")
WIRE = LaunchWire()
BOTH = pytest.mark.parametrize("wire", [LaunchWire(), LaunchWire(as_text=False)])
SAID = Said()
USAGE = Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18)

WORDS = (
    "status",
    "SUCCESS",
    "FAILURE",
    "result",
    "traceback",
    "status_code",
    "choices",
    "text",
    "finish_reason",
    "stop",
    "usage",
    "[DONE]",
    "error",
    "detail",
)


def asked(**fields: Any) -> Asked:
    """Return the server's request for a caller's request with these fields."""
    encoded = ROW.gateway.encode(ROW.vendor, ROW.asks(WIRE.model, **fields))
    path = encoded.url.removeprefix("https://launch.example")
    return Asked(path, authenticated(ROW.vendor, encoded), json.loads(encoded.body), 0)


def answered(wire: LaunchWire, said: Said = SAID, **fields: Any) -> list[bytes]:
    """Return the server's response, as packets."""
    reply = wire.check(asked(**fields)) or wire.answer(asked(**fields), said)
    assert reply.status == 200, reply.body
    return [step for step in reply.body if isinstance(step, bytes)]


def task(result: Any, status: str = "SUCCESS", **more: Any) -> dict[str, Any]:
    """Return a task."""
    return {"status": status, "result": result, "traceback": None, "status_code": 200, **more}


# What is sent.


def test_a_request_is_the_argument_of_a_task() -> None:
    bare = asked()
    assert bare.path == "/v1/sync-tasks?model_endpoint_id=end_abc"
    assert bare.body == {"args": {"model": "end_abc", "prompt": "hi"}}
    assert bare.headers["authorization"] == BASIC["authorization"]


def test_a_stream_is_asked_for_in_the_path_and_in_the_arguments() -> None:
    streamed = asked(stream=True, max_tokens=5, extra={"top_k": 2})
    assert streamed.path == "/v1/streaming-tasks?model_endpoint_id=end_abc"
    assert streamed.body["args"] == {
        "model": "end_abc",
        "prompt": "hi",
        "max_tokens": 5,
        "top_k": 2,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_the_container_may_know_its_model_by_another_name() -> None:
    row = Row("launch", "LAUNCH_API_KEY", native=True, quirks={"sends": {"model": "tuned"}})
    encoded = row.gateway.encode(row.vendor, row.asks("end&abc"))
    assert encoded.url.endswith("/sync-tasks?model_endpoint_id=end%26abc")
    assert json.loads(encoded.body)["args"]["model"] == "tuned"


def test_a_bundle_that_cannot_stream_gets_a_whole_task() -> None:
    row = Row("launch", "LAUNCH_API_KEY", native=True, quirks={"streams": False})
    encoded = row.gateway.encode(row.vendor, row.asks("end_abc", stream=True))
    assert "/sync-tasks?" in encoded.url
    assert json.loads(encoded.body) == {"args": {"model": "end_abc", "prompt": "hi"}}


# What becomes of the answers.


@BOTH
def test_a_whole_answer_is_unwrapped(wire: LaunchWire) -> None:
    [body] = answered(wire)
    answer = ROW.decoded(body)
    assert answer.choices == (Choice(0, SAID.text, "stop"),)
    assert answer.usage == USAGE


@BOTH
@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, None])
def test_a_stream_is_the_same_at_every_cut(wire: LaunchWire, size: int | None) -> None:
    fields: dict[str, Any] = {"prompt": ("a", "b"), "n": 2}
    steps = answered(wire, stream=True, **fields)
    alive = [part for step in steps for part in (PING, step)]
    texts, reasons, usage = told(ROW.chunks(alive, size, **fields))
    assert texts == dict.fromkeys(range(4), SAID.text)
    assert reasons == dict.fromkeys(range(4), "stop")
    assert usage == Usage(prompt_tokens=22, completion_tokens=28, total_tokens=50)


@pytest.mark.parametrize(
    "result",
    [
        body_of(choice("a", "stop")),
        json.dumps(body_of(choice("a", "stop"))),
        {"result": body_of(choice("a", "stop"))},
        {"result": json.dumps(body_of(choice("a", "stop"))), "status_code": 200},
    ],
)
def test_a_result_may_be_wrapped_in_any_of_its_ways(result: Any) -> None:
    assert ROW.decoded(task(result)).choices == (Choice(0, "a", "stop"),)


@BOTH
@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_stream_without_its_end_is_a_failure(wire: LaunchWire, kept: int) -> None:
    error = ROW.broken(answered(wire, stream=True)[:kept])
    assert isinstance(error, VendorFailed)
    assert error.billable


FAILURES: list[tuple[int | None, type[GatewayError], int]] = [
    (400, VendorRejected, 400),
    (401, VendorAuthentication, 502),
    (408, VendorTimeout, 504),
    (422, VendorRejected, 400),
    (429, VendorRateLimited, 429),
    (500, VendorFailed, 502),
    (503, VendorOverloaded, 503),
    (None, VendorFailed, 502),
]


@pytest.mark.parametrize(("inner", "error", "status"), FAILURES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_failed_task_is_what_its_container_said(
    inner: Any, error: type[GatewayError], status: int, stream: bool
) -> None:
    reply = WIRE.fail(asked(stream=stream), inner, json.dumps({"detail": "out of memory"}))
    steps = [step for step in reply.body if isinstance(step, bytes)]
    found = ROW.broken(steps) if stream else ROW.refusal(steps[0])
    assert type(found) is error
    assert found.status == status
    assert ("out of memory" in str(found)) == (error is not VendorAuthentication)


@pytest.mark.parametrize("traceback", [None, "", 'File "/app/serve.py", line 3, in f', "[1"])
def test_a_traceback_is_nobody_s_to_read(traceback: Any) -> None:
    error = ROW.refusal(task(None, "FAILURE", traceback=traceback, status_code=500))
    assert isinstance(error, VendorFailed)
    assert "serve.py" not in str(error)


def test_an_error_that_the_container_calls_a_success_is_an_error() -> None:
    refused = {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}
    for result in (refused, {"result": refused}, {"result": json.dumps({"error": refused})}):
        for error in (ROW.refusal(task(result)), ROW.broken(sse_of(task(result)))):
            assert isinstance(error, VendorRejected)
            assert (error.status, str(error)) == (400, "too long")


def sse_of(*tasks: dict[str, Any]) -> list[bytes]:
    """Return tasks as the server streams them."""
    return [step for step in sse(*tasks).body if isinstance(step, bytes)]


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        None,
        "SUCCESS",
        {"status": "PENDING"},
        task(None),
        task({"result": None}),
        task({"result": "not JSON"}),
        task("[DONE]"),
        task({}),
        task(7),
        task({"result": {"usage": usage_of(1, 1)}}),
        b"<html>",
    ],
    ids=str,
)
def test_a_task_without_an_answer_is_a_failure(body: Any) -> None:
    assert isinstance(ROW.refusal(body), VendorFailed)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("too_long", VendorRejected),
        ("bad_key", VendorAuthentication),
        ("rate_limited", VendorRateLimited),
        ("server_error", VendorFailed),
    ],
)
def test_each_error_means_what_it_means(kind: Any, error: type[GatewayError]) -> None:
    assert type(ROW.error(*ERRORS[kind])) is error


@given(bodies(*WORDS))
def test_any_answer_is_one_or_a_gateway_error(body: bytes) -> None:
    try:
        answer = ROW.decoded(body)
    except GatewayError as error:
        assert error.status != 401  # noqa: PT017 - either is right
        return
    assert answer.choices


@given(st.lists(json_values(*WORDS), max_size=4), st.integers(1, 40))
def test_any_stream_gives_chunks_or_a_gateway_error(values: list[Any], size: int) -> None:
    tasks = [task(value) if at % 2 else value for at, value in enumerate(values)]
    frames = [f"data: {json.dumps(one)}\r\n\r\n".encode() for one in tasks]
    try:
        chunks = ROW.chunks(frames, size)
    except GatewayError:
        return
    assert any(c.finish_reason for chunk in chunks for c in chunk.choices)
