"""Requests that the server rejects, and parameters that it would ignore."""

from typing import Any

import pytest

from tests.contract.llamacpp.served import TOO_LONG, Served, check_work

REFUSED: dict[str, dict[str, Any]] = {
    "a prompt that is too long": {"prompt": TOO_LONG},
    "a token that there is not": {"prompt": [10**6]},
    "a field of its own that is wrong": {"grammar": "root ::= ("},
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("asked", REFUSED.values(), ids=REFUSED)
def test_a_refusal_is_the_server_s_own_and_costs_nothing(
    served: Served, asked: dict[str, Any], stream: bool
) -> None:
    theirs = served.direct(**asked)["error"]
    response = served.gateway.post(served.ask(stream=stream, **asked))
    assert response.status_code == theirs["code"] == 400
    assert response.json()["error"]["message"] == theirs["message"]
    event = served.gateway.event()
    assert (event.status, event.source, event.total_tokens) == ("failed", "none", 0)


@pytest.mark.parametrize(("name", "value"), [("echo", True), ("suffix", "the end"), ("best_of", 2)])
def test_what_the_server_would_ignore_is_refused_by_name(
    served: Served, name: str, value: Any
) -> None:
    """It responds as if the parameter were missing."""
    before = served.server.worked
    response = served.gateway.post(served.ask(**{name: value}))
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["param"], error["code"]) == (name, "unsupported_parameter")
    assert served.server.worked == before
    assert (
        served.direct(**{name: value})["choices"][0]["text"]
        == served.direct()["choices"][0]["text"]
    )


def test_a_refused_prompt_of_a_list_is_not_charged_and_its_siblings_are(served: Served) -> None:
    before = served.server.worked
    response = served.gateway.post(served.ask(prompt=["a", TOO_LONG, "the cat", "b"]))
    assert response.status_code == 400
    assert "exceeds the available context size" in response.json()["error"]["message"]
    event = served.gateway.event()
    assert (event.status, event.source) == ("failed", "vendor")
    check_work(served.server, before, [event])


def test_a_list_that_is_refused_as_a_whole_costs_nothing(served: Served) -> None:
    response = served.gateway.post(served.ask(prompt=[TOO_LONG] * 5))
    assert response.status_code == 400
    event = served.gateway.event()
    assert (event.status, event.total_tokens) == ("failed", 0)
