"""What is wrong with the form of a credential."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.accounts.apikey import new_secret
from app.api.mistakes.keys import INVALID, of_text, problem

TEXTS = st.text(max_size=80)


def test_of_a_key_with_the_right_form_nothing_is_told() -> None:
    key = new_secret()
    for headers in ({"x-api-key": key}, {"authorization": f"Bearer {key}"}):
        assert problem(headers, {}) == INVALID
    beside = {"x-api-key": "sk-other", "authorization": f"bearer {key}"}
    assert problem(beside, {"api_key": "x"}) == INVALID
    assert problem({"x-api-key": f"sk-other, {key}"}, {}) == INVALID
    assert of_text(key) == INVALID


@given(TEXTS, TEXTS, TEXTS)
def test_any_credential_gets_one_sentence_or_a_few_and_is_not_repeated(
    named: str, authorization: str, query: str
) -> None:
    secret = secrets.token_hex(8)
    for headers in (
        {"x-api-key": named + secret},
        {"authorization": authorization + secret},
        {"authorization": f"Bearer {authorization}{secret}"},
        {"api-key": named + secret},
        {},
    ):
        found = problem(headers, {query: secret, "key": secret})
        assert found.endswith(".")
        assert secret not in found
        assert len(found) < 400


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tg_" + "x" * 42, "too short"),
        ("tg_" + "x" * 42 + "!", "character"),
        ("“tg_x”", "quotation"),
        ("None", "`None`"),
        ("OPENAI_API_KEY", "placeholder"),
        ("%TOLLGATE_KEY%", "placeholder"),
        ("{{ key }}", "placeholder"),
        ("your-api-key", "placeholder"),
        ("tg_x\n", "white space"),
        ("hello", "begins with `tg_`"),
        ("", "empty"),
    ],
)
def test_a_credential_that_was_entered_by_itself(text: str, says: str) -> None:
    assert says in of_text(text)
