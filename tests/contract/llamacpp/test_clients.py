"""Both official clients get the server's response."""

from typing import Any

import pytest

from tests.contract.llamacpp.clients import openai_client, scale_client
from tests.contract.llamacpp.logprobs import check_logprobs
from tests.contract.llamacpp.served import CHARACTERS, PROMPT, Served, check_event, counts


@pytest.fixture(params=[openai_client, scale_client], ids=["openai", "scale"])
def client(request: pytest.FixtureRequest, served: Served) -> Any:
    """Each official client in turn."""
    return request.param(served)


def test_a_client_gets_the_server_s_answer(served: Served, client: Any) -> None:
    theirs = served.direct(**CHARACTERS, logprobs=2)
    answer = client.completions.create(
        **served.ask(max_tokens=CHARACTERS["max_tokens"], logprobs=2),
        extra_body={"grammar": CHARACTERS["grammar"]},
    )
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason) == (theirs["choices"][0]["text"], "stop")
    entries = theirs["choices"][0]["logprobs"]["content"]
    check_logprobs(choice.text, [choice.logprobs.model_dump()], entries, 2)
    assert counts(answer.usage.model_dump()) == counts(theirs["usage"])
    check_event(served.gateway.event(), theirs["usage"])


def test_a_client_gets_the_server_s_stream(served: Served, client: Any) -> None:
    theirs = served.direct_events(prompt=PROMPT)
    asked = served.ask(stream=True, stream_options={"include_usage": True})
    chunks = list(client.completions.create(**asked))
    text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
    assert text == "".join(c["text"] for chunk in theirs for c in chunk["choices"])
    assert counts(chunks[-1].usage.model_dump()) == counts(theirs[-1]["usage"])
    check_event(served.gateway.event(), theirs[-1]["usage"])
