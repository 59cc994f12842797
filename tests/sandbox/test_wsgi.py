"""The sandbox over HTTP, and as a process of its own."""

import json
import select
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
import requests
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.sandbox.wsgi import app

TIMEOUT_S = 60


@pytest.fixture
def client() -> FlaskClient:
    """The sandbox without a server, for what needs none."""
    return app.test_client()


def ask(client: FlaskClient, **fields: Any) -> TestResponse:
    return client.post(
        "/v1/completions", json={"model": "echo", "prompt": "one two three", **fields}
    )


def post(base_url: str, prompt: Any = "one two three", **fields: Any) -> requests.Response:
    body = {"model": "echo", "prompt": prompt, **fields}
    stream = bool(fields.get("stream"))
    return requests.post(f"{base_url}/completions", json=body, stream=stream, timeout=TIMEOUT_S)


def frames(text: str) -> Iterator[str]:
    for block in text.removesuffix("\n\n").split("\n\n"):
        assert block.startswith("data: ")
        yield block.removeprefix("data: ")


def test_an_answer_has_openais_shape(client: FlaskClient) -> None:
    response = ask(client)
    body = response.json
    assert body is not None
    assert (body["object"], body["model"]) == ("text_completion", "echo")
    assert body["choices"] == [
        {"index": 0, "text": "one two three", "logprobs": None, "finish_reason": "stop"}
    ]
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    assert body["id"].startswith("cmpl-")
    assert response.headers["x-request-id"].startswith("req_")


def test_a_stream_ends_with_reasons_usage_and_the_bare_mark(client: FlaskClient) -> None:
    response = ask(client, n=2, stream=True, stream_options={"include_usage": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    *chunks, usage, done = frames(response.text)
    assert done == "[DONE]"
    assert json.loads(usage)["choices"] == []
    assert json.loads(usage)["usage"]["completion_tokens"] == 6
    said: dict[int, str] = {0: "", 1: ""}
    ends: dict[int, str] = {}
    for chunk in map(json.loads, chunks):
        assert chunk["usage"] is None
        for choice in chunk["choices"]:
            assert choice["index"] not in ends
            said[choice["index"]] += choice["text"]
            if choice["finish_reason"]:
                ends[choice["index"]] = choice["finish_reason"]
    assert said == {0: "one two three", 1: "two three one"}
    assert ends == {0: "stop", 1: "stop"}


def test_a_stream_has_no_usage_unless_asked(client: FlaskClient) -> None:
    assert not any('"usage"' in frame for frame in frames(ask(client, stream=True).text))


def test_a_status_is_given_with_its_retry_after(client: FlaskClient) -> None:
    response = ask(client, model="echo?status=503&retry_after=3")
    assert (response.status_code, response.headers["retry-after"]) == (503, "3")
    assert response.json == {
        "error": {
            "message": "The sandbox was asked to fail with status 503.",
            "type": "server_error",
            "param": None,
            "code": "sandbox_status",
        }
    }


def test_openais_client_reads_it(sandbox_url: str) -> None:
    with openai.OpenAI(base_url=sandbox_url, api_key="any", max_retries=0) as client:
        with client.completions.create(model="echo", prompt="a b", stream=True) as stream:
            assert "".join(chunk.choices[0].text for chunk in stream) == "a b"
        with pytest.raises(openai.RateLimitError) as refusal:
            client.completions.create(model="echo?status=429&retry_after=3", prompt="a")
    assert refusal.value.response.headers["retry-after"] == "3"
    assert refusal.value.code == "sandbox_status"


@pytest.mark.parametrize("cut_after", [1, 3])
def test_a_stream_that_is_cut_has_no_proper_end(sandbox_url: str, cut_after: int) -> None:
    with (
        post(sandbox_url, model=f"echo?cut_after={cut_after}", stream=True) as response,
        pytest.raises(requests.exceptions.ChunkedEncodingError),
    ):
        assert response.content


def test_a_stream_that_is_cut_before_its_first_word_has_no_answer(sandbox_url: str) -> None:
    with pytest.raises(requests.exceptions.ConnectionError):
        post(sandbox_url, model="echo?cut_after=0", stream=True)


def test_a_cut_beyond_the_end_cuts_nothing(client: FlaskClient) -> None:
    assert ask(client, model="echo?cut_after=4").status_code == 200
    assert list(frames(ask(client, model="echo?cut_after=4", stream=True).text))[-1] == "[DONE]"


@pytest.mark.parametrize("stream", [False, True])
def test_a_cut_is_a_connection_reset_to_the_server(client: FlaskClient, stream: bool) -> None:
    with pytest.raises(ConnectionResetError):
        assert ask(client, model="echo?cut_after=1", stream=stream).data


def test_an_answer_that_is_cut_is_shorter_than_it_said(sandbox_url: str) -> None:
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        post(sandbox_url, model="echo?cut_after=1")


def test_silence_to_one_caller_does_not_hold_another(sandbox_url: str) -> None:
    address = urlsplit(sandbox_url)
    with closing(HTTPConnection(str(address.hostname), address.port)) as silent:
        body = json.dumps({"model": "echo?hang_s=3600", "prompt": "a"})
        silent.request("POST", f"{address.path}/completions", body)
        assert post(sandbox_url, model="echo?delay_ms=1", stream=True).status_code == 200
        assert select.select([silent.sock], [], [], 0)[0] == []


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(client: FlaskClient, body: bytes) -> None:
    response = client.post("/v1/completions", data=body)
    assert response.status_code == 400
    assert response.json is not None
    assert response.json["error"]["type"] == "invalid_request_error"


def test_other_routes_answer_in_the_same_shape(client: FlaskClient) -> None:
    missing, method = client.get("/v1/nothing"), client.get("/v1/completions")
    assert (missing.status_code, set(missing.json or {})) == (404, {"error"})
    assert (method.status_code, set(method.json or {})) == (405, {"error"})
    models = client.get("/v1/models").json or {}
    assert [model["id"] for model in models["data"]] == ["echo"]
