"""Which known name a mistyped one is taken for."""

import pytest

from app.vocabulary.suggestion import did_you_mean, nearest

NAMES = ("temperature", "top_p", "max_tokens", "prompt", "stop", "openai", "sandbox")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("temprature", "temperature"),
        ("maxTokens", "max_tokens"),
        ("max-tokens", "max_tokens"),
        ("opnai", "openai"),
        ("Sandbox", "sandbox"),
        ("OPENAI", "openai"),
        ("frequency", None),
        ("", None),
        ("temperature" * 100_000, None),
    ],
)
def test_a_mistyped_name_is_recognised_and_a_different_one_is_not(
    name: str, meant: str | None
) -> None:
    assert nearest(name, NAMES) == meant


def test_the_question_is_appended_to_a_sentence_only_if_there_is_an_answer() -> None:
    assert did_you_mean("promt", NAMES) == " Did you mean `prompt`?"
    assert did_you_mean("zebra", NAMES) == ""
