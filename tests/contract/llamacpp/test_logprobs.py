"""The server's log probabilities in the contract's format; it takes 0 for no log probabilities."""

from typing import Any

import pytest

from tests.contract.llamacpp.logprobs import check_logprobs
from tests.contract.llamacpp.served import CHARACTERS, LETTERS, SAMPLED, Served, pieces_of

TOLD: dict[str, dict[str, Any]] = {
    "letters": LETTERS,
    "its own words": SAMPLED,
    "split characters": CHARACTERS,
    "bytes that are no text": {"logit_bias": {"154": 100}},
    "a stop sequence begun": {**LETTERS, "stop": "cdx"},
}


@pytest.mark.parametrize("top", [0, 1, 5])
@pytest.mark.parametrize("asked", TOLD.values(), ids=TOLD)
def test_log_probabilities_are_the_server_s_own(
    served: Served, asked: dict[str, Any], top: int
) -> None:
    (theirs,) = served.direct(**asked, logprobs=top or 1)["choices"]
    (ours,) = served.answer(**asked, logprobs=top)["choices"]
    check_logprobs(theirs["text"], [ours["logprobs"]], theirs["logprobs"]["content"], top)
    served.gateway.event()


@pytest.mark.parametrize("top", [0, 1, 5])
@pytest.mark.parametrize("asked", TOLD.values(), ids=TOLD)
def test_log_probabilities_come_with_the_pieces_of_a_stream(
    served: Served, asked: dict[str, Any], top: int
) -> None:
    (theirs,) = served.direct(**asked, logprobs=top or 1)["choices"]
    ours = pieces_of(served.events(**asked, logprobs=top))
    for piece in ours:
        assert piece["text"] == "".join((piece["logprobs"] or {"tokens": []})["tokens"])
    told = [piece["logprobs"] for piece in ours]
    check_logprobs(theirs["text"], told, theirs["logprobs"]["content"], top)
    served.gateway.event()


def test_unasked_there_are_no_log_probabilities(served: Served) -> None:
    choices = served.answer()["choices"] + pieces_of(served.events())
    assert {choice["logprobs"] for choice in choices} == {None}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("top", [0, 1, 5])
def test_chat_tells_its_log_probabilities(served: Served, top: int, stream: bool) -> None:
    """Without alternatives, the server sends none at all; without a number, it sends twenty."""
    (theirs,) = served.direct_chat(logprobs=True, top_logprobs=top or 1)["choices"]
    asked: dict[str, Any] = {"model": "llamachat", "logprobs": top}
    ours = pieces_of(served.events(**asked) if stream else [served.answer(**asked)])
    told = [piece["logprobs"] for piece in ours]
    check_logprobs(theirs["message"]["content"], told, theirs["logprobs"]["content"], top)
    served.gateway.event()
