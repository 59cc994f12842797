from typing import Any

import pytest

from app.gateways.families import GATEWAYS
from app.vocabulary.errors import UnsupportedParameter
from tests.gateways.openai.chat_wire import STREAM, answer, message
from tests.gateways.rows import Row, told

FIM = Row("mistral", "MISTRAL_API_KEY")
assert GATEWAYS["mistral"].native is not None
FIM.gateway = GATEWAYS["mistral"].native


def test_a_prompt_and_what_follows_it_are_sent_as_they_are() -> None:
    encoded = FIM.gateway.encode(FIM.vendor, FIM.asks("codestral-latest", suffix="end"))
    assert encoded.url == "https://api.mistral.ai/v1/fim/completions"
    sent = FIM.sent("codestral-latest", suffix="end", seed=7, max_tokens=9, stop=["x"], top_p=0.5)
    assert sent == {
        "model": "codestral-latest",
        "prompt": "hi",
        "suffix": "end",
        "random_seed": 7,
        "max_tokens": 9,
        "stop": ["x"],
        "top_p": 0.5,
    }


def test_a_stream_says_nothing_of_usage_which_comes_unasked() -> None:
    assert FIM.sent(stream=True) == {"model": "m", "prompt": "hi", "stream": True}


def test_fields_beyond_the_contract_are_forwarded() -> None:
    assert FIM.sent(extra={"min_tokens": 3})["min_tokens"] == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("best_of", 2),
        ("echo", True),
        ("logprobs", 0),
        ("logit_bias", {"1": 1}),
        ("presence_penalty", 1),
        ("frequency_penalty", 1),
    ],
)
def test_what_the_wire_has_no_word_for_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        FIM.sent(**{name: value})
    assert caught.value.param == name


def test_an_answer_is_shaped_as_chats() -> None:
    assert FIM.decoded(answer(message("a", "model_length"))).choices[0].finish_reason == "length"
    assert told(FIM.chunks(STREAM))[:2] == ("café \u2028", ["stop"])


def test_a_refused_field_is_named() -> None:
    problem = {"type": "extra_forbidden", "loc": ["body", "echo"], "msg": "Not permitted"}
    error = FIM.error(422, {"object": "error", "message": {"detail": [problem]}})
    assert (error.status, error.message, error.param) == (400, "Not permitted", "echo")


def test_a_users_name_is_ours_to_keep() -> None:
    assert FIM.sent(user="u") == {"model": "m", "prompt": "hi"}


@pytest.mark.parametrize("prompt", [[1, 2], [[1], [2]]])
def test_token_ids_are_refused(prompt: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        FIM.sent(prompt=prompt)
    assert caught.value.param == "prompt"
