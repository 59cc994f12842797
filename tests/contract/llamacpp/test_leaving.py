"""Callers that disconnect, and a server that does."""

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
import requests

from tests.contract.llamacpp.clients import openai_client
from tests.contract.llamacpp.served import PROMPT, Served, request_of, tollgate_before
from tests.support.services.llamacpp import SLOT_TOKENS, LlamaCpp
from tests.support.services.polling import wait_until
from tests.support.services.tiny_model import CONTEXT_TOKENS
from tests.support.vendor import DONE

ENDLESS: dict[str, Any] = {"max_tokens": SLOT_TOKENS - 100, "ignore_eos": True}


@pytest.mark.parametrize("prompt", [PROMPT, [PROMPT, "a", "b"]])
def test_a_caller_that_hangs_up_frees_the_server(served: Served, prompt: Any) -> None:
    before = served.server.worked
    with requests.post(
        f"{served.gateway.base_url}/completions",
        json=served.ask(prompt=prompt, stream=True, **ENDLESS),
        headers={"x-api-key": served.gateway.api_key},
        stream=True,
        timeout=30,
    ) as response:
        next(response.iter_content(10))
    wait_until(lambda: not served.server.busy)
    event = served.gateway.event()
    assert event.status == "disconnected"
    assert event.completion_tokens > 0
    _, wrote = (now - then for now, then in zip(served.server.worked, before, strict=True))
    assert 0 < wrote < ENDLESS["max_tokens"]


@pytest.fixture
def mortal(tmp_path: Path, redis_url: str) -> Iterator[Served]:
    """A server that a test may kill."""
    server = LlamaCpp(tmp_path).start()
    with tollgate_before(server, tmp_path, redis_url) as served:
        yield served
    server.kill()


@pytest.fixture
def crowded(tmp_path: Path, redis_url: str) -> Iterator[Served]:
    """A server whose requests share one context."""
    server = LlamaCpp(tmp_path, shared=True).start()
    with tollgate_before(server, tmp_path, redis_url) as served:
        yield served
    server.kill()


def test_the_server_leaves_after_a_stream_that_it_promised_to_stay_after(server: LlamaCpp) -> None:
    """That is why its entry in the vendor table sends `connection: close`."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    connection.request("POST", "/v1/completions", json.dumps(request_of({"stream": True})))
    answer = connection.getresponse()
    assert "timeout" in (answer.headers["keep-alive"] or "")
    assert answer.headers["connection"] is None
    sock = connection.sock
    assert answer.read().endswith(DONE)
    assert sock.recv(1) == b""
    connection.close()


def test_an_answer_that_is_cut_is_not_whole_and_what_came_is_recorded(mortal: Served) -> None:
    stream = openai_client(mortal).completions.create(
        **mortal.ask(stream=True, max_tokens=ENDLESS["max_tokens"]),
        extra_body={"ignore_eos": True},
    )
    first = next(stream)
    mortal.server.kill()
    with pytest.raises(openai.APIError):
        list(stream)
    assert first.choices[0].text
    event = mortal.gateway.event()
    assert (event.status, event.source) == ("truncated", "estimated")
    assert min(event.prompt_tokens, event.completion_tokens) > 0


def test_a_server_that_was_restarted_is_reached_again(mortal: Served) -> None:
    """Its old connections do not fail the next request."""
    with ThreadPoolExecutor(4) as callers:
        list(callers.map(lambda _: mortal.answer(), range(4)))
    mortal.server.kill()
    mortal.server.start()
    with ThreadPoolExecutor(4) as callers:
        list(callers.map(lambda _: mortal.answer(), range(4)))
    events = mortal.gateway.events(8)
    assert {(event.status, event.source) for event in events} == {("completed", "vendor")}


def test_a_failure_within_a_stream_is_told_in_the_server_s_words(crowded: Served) -> None:
    """It is an event with an error, after status 200 and a part of the text."""
    halves = [letter * (CONTEXT_TOKENS // 2 - 100) for letter in "ab"]

    def read(prompt: str) -> str:
        stream = openai_client(crowded).completions.create(
            **crowded.ask(prompt=prompt, stream=True, max_tokens=CONTEXT_TOKENS),
            extra_body={"ignore_eos": True},
        )
        with pytest.raises(openai.APIError) as caught:
            list(stream)
        return str(caught.value)

    with ThreadPoolExecutor(2) as callers:
        messages = list(callers.map(read, halves))
    assert all("Context size has been exceeded." in message for message in messages)
    for event in crowded.gateway.events(2):
        assert (event.status, event.source) == ("truncated", "estimated")
        assert min(event.prompt_tokens, event.completion_tokens) > 0
