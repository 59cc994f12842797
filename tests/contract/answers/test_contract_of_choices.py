"""Callers get what the contract allows: valid text, finite numbers, and extra fields."""

from typing import Any

import pytest

from tests.contract.answers.contract_choice import BOTH, say
from tests.contract.answers.parts import Part
from tests.contract.answers.site import PROMPT, TEXT, Site
from tests.contract.answers.wires import WIRES

# Scores of an echoed prompt, which a chat does not give.


@BOTH
@pytest.mark.parametrize("logprobs", [0, 2])
@pytest.mark.parametrize("name", ["chat", "azure-chat", "gemini", "vertex", "mistral"])
def test_scores_of_an_echoed_prompt_are_refused_by_name_on_a_chat(
    site: Site, name: str, logprobs: int, stream: bool
) -> None:
    told = site.ask(WIRES[name], stream=stream, echo=True, logprobs=logprobs)
    assert told.status == 400
    assert told.error is not None
    assert (told.error["param"], told.error["code"]) == ("logprobs", "unsupported_parameter")
    assert site.vendor.asked == []


@BOTH
def test_an_entry_that_drops_what_it_cannot_do_drops_the_scores_and_says_so(
    site: Site, stream: bool
) -> None:
    site.says(say("chat", stream, Part(TEXT)))
    told = site.ask("lax/m", stream=stream, echo=True, logprobs=2)
    assert told.is_whole(), told
    assert told.headers["x-tollgate-dropped"] == "logprobs"
    assert told.texts == {0: PROMPT + TEXT}
    assert all(choice["logprobs"] is None for choice in told.choices)
    (asked,) = site.vendor.asked
    assert not asked.body.get("logprobs")
    assert "top_logprobs" not in asked.body


@BOTH
@pytest.mark.parametrize(
    "fields", [{"echo": True}, {"logprobs": 2}, {"echo": False, "logprobs": 2}]
)
def test_either_of_them_is_served(site: Site, fields: dict[str, Any], stream: bool) -> None:
    site.says(say("chat", stream, Part(TEXT)))
    assert site.ask(WIRES["chat"], stream=stream, **fields).is_whole()


@BOTH
def test_both_are_passed_on_where_the_prompt_is_scored(site: Site, stream: bool) -> None:
    site.says(say("text", stream, Part(PROMPT + TEXT)))
    assert site.ask(WIRES["text"], stream=stream, echo=True, logprobs=2).is_whole()
    (asked,) = site.vendor.asked
    assert (asked.body["echo"], asked.body["logprobs"]) == (True, 2)


@BOTH
def test_a_server_that_takes_none_for_off_is_asked_for_one_which_is_cut(
    site: Site, stream: bool
) -> None:
    scores = {"tokens": ["a"], "token_logprobs": [-0.5], "text_offset": [0]}
    more = {"logprobs": {**scores, "top_logprobs": [{"a": -0.5, "b": -1.0}]}}
    site.says(say("text", stream, Part("a", more=more)))
    told = site.ask("shy/m", stream=stream, logprobs=0)
    assert told.is_whole(), told
    assert site.vendor.asked[0].body["logprobs"] == 1
    logprobs = next(c["logprobs"] for c in told.choices if c["logprobs"])
    assert logprobs["token_logprobs"] == [-0.5]
    assert logprobs["top_logprobs"] in (None, [{"a": -0.5}])


# What a choice carries beyond the contract.

EXTRA: dict[str, Any] = {
    "stop_reason": 128009,
    "token_ids": [1, 2, 3],
    "prompt_logprobs": [None, {"7": {"logprob": -0.1, "rank": 1, "decoded_token": "x"}}],
    "prompt_token_ids": [9, 8],
    "content_filter_results": {"hate": {"filtered": False}},
    "weight_version": "v1",
}


@BOTH
@pytest.mark.parametrize(
    "name", ["text", "chat", "azure-text", "azure-chat", "llmengine", "launch", "mistral"]
)
def test_what_a_choice_carries_beyond_the_contract_comes_back(
    site: Site, name: str, stream: bool
) -> None:
    site.says(say(name, stream, Part(TEXT, more=EXTRA)))
    asked = {"return_token_ids": True, "prompt_logprobs": 1}
    told = site.ask(WIRES[name], stream=stream, **asked)
    assert told.is_whole(), told
    found: dict[str, Any] = {}
    for choice in told.choices:
        found |= choice
    assert {key: found[key] for key in EXTRA} == EXTRA
    contract = {"index", "text", "logprobs", "finish_reason"}
    assert found.keys() - EXTRA.keys() == contract  # neither a message nor a delta
    body = site.vendor.asked[0].body
    body = body.get("args", body)
    assert {key: body[key] for key in asked} == asked


@pytest.mark.parametrize("name", ["text", "chat", "llmengine", "launch"])
def test_each_chunk_has_its_own(site: Site, name: str) -> None:
    parts = [Part("word ", more={"token_ids": [at]}) for at in range(6)]
    site.says(say(name, True, *parts))
    told = site.ask(WIRES[name], stream=True)
    ids = [token for choice in told.choices for token in choice.get("token_ids", [])]
    assert ids == [0, 1, 2, 3, 4, 5]
    assert told.texts == {0: "word " * 6}


@pytest.mark.parametrize("name", ["text", "llmengine"])
def test_token_ids_without_a_text_come_back_too(site: Site, name: str) -> None:
    parts = [Part("", more={"token_ids": [1]}), Part("a", more={"token_ids": [2]})]
    site.says(say(name, True, *parts))
    told = site.ask(WIRES[name], stream=True)
    ids = [token for choice in told.choices for token in choice.get("token_ids", [])]
    assert ids == [1, 2]


def test_a_vendors_extras_cannot_stand_in_for_the_contracts_fields(site: Site) -> None:
    more = {"native_finish_reason": "theirs", "usage": {"prompt_tokens": 1}}
    site.says(say("text", False, Part(TEXT, more=more)))
    told = site.ask("text/m")
    (choice,) = told.choices
    assert (choice["text"], choice["finish_reason"]) == (TEXT, "stop")
    assert choice["logprobs"] is None
