"""The sandbox's chat over HTTP, as OpenAI's client reads it."""

import json
from typing import Any

import openai
import pytest
import requests
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.sandbox.wsgi import app
from tests.sandbox.chat.asking import SCHEMA, USER, function

TIMEOUT_S = 60
WEATHER = function("get_weather", SCHEMA)


@pytest.fixture
def client() -> FlaskClient:
    """The sandbox without a server, for what needs none."""
    return app.test_client()


def ask(client: FlaskClient, **fields: Any) -> TestResponse:
    """Ask for a chat completion."""
    body = {"model": "echo", "messages": [USER], **fields}
    return client.post("/v1/chat/completions", json=body)


def chunks(response: TestResponse) -> list[Any]:
    """Return the chunks of a stream, which must end with the bare mark."""
    *events, done = response.text.removesuffix("\n\n").split("\n\n")
    assert done == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in events]


def calls_of(message: Any) -> list[tuple[str, str, str]]:
    """Return the id, name and arguments of each call in a message."""
    return [(it.id, it.function.name, it.function.arguments) for it in message.tool_calls]


def test_an_answer_has_openais_shape(client: FlaskClient) -> None:
    body = ask(client, model="echo?reasoning=1").json
    assert body is not None
    assert (body["object"], body["model"], body["id"][:9]) == (
        "chat.completion",
        "echo",
        "chatcmpl-",
    )
    assert body["choices"] == [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "the weather in Rome",
                "refusal": None,
                "annotations": [],
                "reasoning_content": "the",
            },
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert body["usage"]["total_tokens"] == 4 + 5


def test_a_stream_has_a_role_an_end_and_a_usage_for_each_choice(client: FlaskClient) -> None:
    response = ask(client, n=2, stream=True, stream_options={"include_usage": True})
    *said, usage = chunks(response)
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 8
    assert all(chunk["usage"] is None for chunk in said)
    first = [chunk["choices"][0] for chunk in said[:2]]
    assert [it["delta"]["role"] for it in first] == ["assistant", "assistant"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in said[-2:]] == ["stop", "stop"]


def test_log_probabilities_are_those_of_each_token(client: FlaskClient) -> None:
    body = ask(client, logprobs=True, top_logprobs=2, max_tokens=1).json
    assert body is not None
    token = {"token": "the", "logprob": 0.0, "bytes": [116, 104, 101]}
    expected = {"content": [{**token, "top_logprobs": [token]}], "refusal": None}
    assert body["choices"][0]["logprobs"] == expected
    first = chunks(ask(client, logprobs=True, stream=True, max_tokens=1))[1]["choices"][0]
    assert first["logprobs"]["content"] == [{**token, "top_logprobs": []}]


def test_openais_client_joins_calls_and_runs_a_tool_loop(sandbox_url: str) -> None:
    asked: Any = {"model": "echo?calls=2&reasoning=1", "tools": [WEATHER]}
    messages: list[Any] = [USER]
    with openai.OpenAI(base_url=sandbox_url, api_key="any", max_retries=0) as client:
        with client.chat.completions.stream(messages=messages, **asked) as stream:
            reply = stream.get_final_completion().choices[0]
        whole = client.chat.completions.create(messages=messages, **asked).choices[0]
        assert reply.finish_reason == whole.finish_reason == "tool_calls"
        found = [calls_of(it.message) for it in (reply, whole)]
        assert found[0] == found[1]
        assert len(found[0]) == 2
        messages.append(whole.message.model_dump(exclude_none=True))
        for call_id, _, arguments in found[0]:
            content = f"in {json.loads(arguments)['city']} it rains"
            messages.append({"role": "tool", "tool_call_id": call_id, "content": content})
        answer = client.chat.completions.create(messages=messages, **asked).choices[0].message
    assert answer.content == "in the it rains in weather it rains"


@pytest.mark.parametrize("cut_after", [0, 2, 4])
def test_a_stream_that_is_cut_has_no_proper_end(sandbox_url: str, cut_after: int) -> None:
    body = {"model": f"echo?cut_after={cut_after}", "messages": [USER], "stream": True}
    url = f"{sandbox_url}/chat/completions"
    said: list[bytes] = []
    with (
        requests.post(url, json=body, stream=True, timeout=TIMEOUT_S) as response,
        pytest.raises(requests.exceptions.ChunkedEncodingError),
    ):
        said.extend(response.iter_content(None))
    text = b"".join(said)
    assert b"[DONE]" not in text
    assert text.count(b'{"content": "') == cut_after


def test_errors_have_openais_shape(client: FlaskClient) -> None:
    response = ask(client, messages=[{"role": "boss", "content": "x"}])
    assert response.status_code == 400
    assert response.json is not None
    assert response.json["error"]["param"] == "messages[0].role"
    assert ask(client, model="echo?status=503").status_code == 503
    assert ask(client, model="gpt-4o").status_code == 404
