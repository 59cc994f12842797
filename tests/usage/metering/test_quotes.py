"""No prompt gets into the ledger by way of a vendor's message, however the vendor quotes it."""

import html
import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.usage.metering.quotes import QUOTE, QUOTE_LENGTH, SEARCHED, without_quotes
from app.vocabulary.completion import CompletionRequest


def asked(*prompts: str) -> CompletionRequest:
    return CompletionRequest(model="sim/m", prompt=list(prompts))


LETTER = """Dear Ms Müller-\U0001f984 \"Smith\" <x@y>,

\tyour diagnosis is bad: C:\\new\\table. It's   final."""

#: How vendors quote a text.
WAYS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in lower case": str.lower,
    "in capitals": str.upper,
    "as JSON": json.dumps,
    "as JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "as UTF-8 in JSON": lambda text: json.dumps(text, ensure_ascii=False),
    "as Python": repr,
    "as ASCII Python": ascii,
    "as HTML": html.escape,
    "on one line": lambda text: " ".join(text.split()),
    "wrapped": lambda text: text.replace(" ", "\n    "),
    "cut": lambda text: f"{text[10:60]}...",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("prompt", [LETTER, json.dumps(LETTER), "x " * 9_000 + LETTER])
def test_a_quote_in_any_form_is_replaced(prompt: str, way: Callable[[str], str]) -> None:
    quote = way(prompt[-len(LETTER) - 10 :])
    kept = without_quotes(f"Blocked by the filter: {quote} (code 7)", asked(prompt))
    assert kept.startswith("Blocked by the filter:")
    assert kept.rstrip(".").endswith("(code 7)")
    assert QUOTE in kept
    for word in ("diagnosis", "smith", "final", "table"):
        assert word not in kept.lower()


def test_the_suffix_is_a_prompt_too() -> None:
    request = CompletionRequest(model="sim/m", prompt="x", suffix="the end of my secret story")
    assert without_quotes("Bad: 'end of my secret story'", request) == f"Bad: '{QUOTE}'"


@pytest.mark.parametrize("quote", ["15339, 1917, 11, 50256", "15339 1917 11 50256"])
def test_token_ids_are_replaced_too(quote: str) -> None:
    request = CompletionRequest(model="sim/m", prompt=[[7], [1, 15339, 1917, 11, 50256, 2]])
    assert without_quotes(f"Bad tokens [{quote}].", request) == f"Bad tokens [{QUOTE}]."
    assert without_quotes("the model is overloaded", request) == "the model is overloaded"


def test_a_prompt_made_to_be_slow_is_not() -> None:
    prompt = "\\n&amp; \\u00e9" * 50_000
    began_s = time.monotonic()
    assert without_quotes("&" * 250 + "\\" * 250, asked(prompt)) == "&" * 250 + "\\" * 250
    assert time.monotonic() - began_s < 60


def test_words_that_both_have_stay() -> None:
    assert without_quotes("the model is full", asked("is the model big?")) == "the model is full"


@given(
    before=st.text(max_size=40),
    prompt=st.text(alphabet="ab ", min_size=QUOTE_LENGTH, max_size=200),
    after=st.text(max_size=40),
    data=st.data(),
)
def test_no_part_of_a_prompt_of_that_length_stays(
    before: str, prompt: str, after: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(prompt) - QUOTE_LENGTH))
    end = data.draw(st.integers(start + QUOTE_LENGTH, len(prompt)))
    message = without_quotes(f"{before}{prompt[start:end]}{after}", asked(prompt))
    parts = [message[at : at + QUOTE_LENGTH] for at in range(len(message) - QUOTE_LENGTH + 1)]
    assert [part for part in parts if part in prompt] == []


def test_of_a_very_long_prompt_the_beginning_and_the_end_are_searched() -> None:
    begin, middle, end = "The first words of all", "Words in between", "The last words of all"
    filler = "x" * SEARCHED
    request = CompletionRequest(model="sim/m", prompt=f"{begin}{filler}{middle}{filler}{end}")
    message = f"{begin} | {middle} | {end}"
    assert without_quotes(message, request) == f"{QUOTE} | {middle} | {QUOTE}"


def test_many_prompts_are_searched_until_the_limit() -> None:
    filler, quoted = "x" * (SEARCHED // 2), "These words are quoted"
    early = CompletionRequest(model="sim/m", prompt=[filler, quoted, filler, filler])
    late = CompletionRequest(model="sim/m", prompt=[filler, filler, filler, quoted])
    assert without_quotes(quoted, early) == QUOTE
    assert without_quotes(quoted, late) == quoted
