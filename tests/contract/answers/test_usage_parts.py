"""Counts are read from wherever a vendor puts them; missing ones are estimated."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.answers.openai_wires import OpenAI
from tests.contract.answers.parts import Counts, Part, Wire, data
from tests.contract.answers.site import (
    BY_VENDOR,
    PROMPT_TOKENS,
    TEXT,
    TEXT_TOKENS,
    Site,
    books,
    by_index,
)
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Reply

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

NAN = float("nan")
#: Stands for a number that no float can hold, which JSON can spell.
VAST: Any = "<<1e400>>"

#: What our own tokenizer counts, and how a side is marked.
OURS_IN, OURS_OUT = PROMPT_TOKENS, TEXT_TOKENS
MARKS = {"v": "vendor", "e": "estimated"}

#: A usage, the prompt's tokens and the completion's, and who counted them.
Case = tuple[Any, int, int, str]


def openai(prompt: Any = None, completion: Any = None, total: Any = None) -> dict[str, Any]:
    """Return OpenAI's usage object with these counts; None leaves one out."""
    names = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return {name: count for name, count in names.items() if count is not None}


OPENAI: list[Case] = [
    (openai(20, 424, 1016), 20, 996, "vv"),  # thoughts that only the total tells of
    (openai(20, None, 60), 20, 40, "vv"),
    (openai(5), 5, OURS_OUT, "ve"),
    (openai(None, 2), OURS_IN, 2, "ev"),
    (openai(5, None, 7), 5, 2, "vv"),
    (openai(None, 5, 7), 2, 5, "vv"),
    (openai(10, 5), 10, 5, "vv"),
    (openai(10, 5, 12), 10, 5, "vv"),
    (openai(10, 5, 0), 10, 5, "vv"),
    (openai(10, 5, NAN), 10, 5, "vv"),
    (openai(10, 5, VAST), 10, 5, "vv"),
    (openai(10, 5, "15"), 10, 5, "vv"),
    ({**openai(10, 5), "total_tokens": None}, 10, 5, "vv"),
    (openai(NAN, 2, NAN), OURS_IN, 2, "ev"),
    (openai(VAST, 2), OURS_IN, 2, "ev"),
    (openai(5, NAN), 5, OURS_OUT, "ve"),
    (openai(5, VAST, VAST), 5, OURS_OUT, "ve"),
    (openai(NAN, 2, 9), 7, 2, "vv"),
    (openai(-1, 2), OURS_IN, 2, "ev"),
    (openai(5, -3), 5, OURS_OUT, "ve"),
    (openai(5, -3, 9), 5, 4, "vv"),
    (openai(1e30, 2), OURS_IN, 2, "ev"),
    (openai(True, 2), OURS_IN, 2, "ev"),
    (openai({}, 2), OURS_IN, 2, "ev"),
    (openai([5], 2, 7), 5, 2, "vv"),
    (openai(5.0, 2.0, 7.0), 5, 2, "vv"),
    ({"prompt_tokens": 5, "completion_tokens": None, "total_tokens": None}, 5, OURS_OUT, "ve"),
    ({"prompt_tokens": None, "completion_tokens": 4, "total_tokens": 9}, 5, 4, "vv"),
    (openai(0, 0, 0), OURS_IN, OURS_OUT, "ee"),
    ({}, OURS_IN, OURS_OUT, "ee"),
    ([], OURS_IN, OURS_OUT, "ee"),
    ("many", OURS_IN, OURS_OUT, "ee"),
    (7, OURS_IN, OURS_OUT, "ee"),
    (True, OURS_IN, OURS_OUT, "ee"),
    (openai(NAN, NAN, NAN), OURS_IN, OURS_OUT, "ee"),
    ({**openai(5, 2, 7), "prompt_tokens_details": "none"}, 5, 2, "vv"),
    ({**openai(5, 2, 7), "completion_tokens_details": [1]}, 5, 2, "vv"),
    ({**openai(5, 2, 7), "prompt_tokens_details": {"cached_tokens": NAN}}, 5, 2, "vv"),
]


def google(**counts: Any) -> dict[str, Any]:
    """Return Google's usage object; names are given without their suffix."""
    return {f"{name}TokenCount": count for name, count in counts.items()}


CASES: Mapping[str, list[Case]] = {
    "text": OPENAI,
    "chat": OPENAI,
    "launch": OPENAI[:6],
    "fim": OPENAI[:6],
    "gemini": [
        (google(prompt=20, total=60), 20, 40, "vv"),
        (google(prompt=5), 5, OURS_OUT, "ve"),
        (google(candidates=2), OURS_IN, 2, "ev"),
        (google(prompt=5, total=7), 5, 2, "vv"),
        (google(candidates=5, total=7), 2, 5, "vv"),
        (google(prompt=10, candidates=5, total=12), 10, 5, "vv"),
        (google(prompt=20, candidates=4, thoughts=3), 20, 7, "vv"),
        (google(prompt=20, candidates=24, thoughts=400, total=1016), 20, 996, "vv"),
        (google(prompt=NAN, candidates=2), OURS_IN, 2, "ev"),
        (google(prompt=-1, candidates=2), OURS_IN, 2, "ev"),
        (google(prompt=5, candidates=VAST), 5, OURS_OUT, "ve"),
        (google(prompt=5, candidates=None, total=9), 5, 4, "vv"),
        ({}, OURS_IN, OURS_OUT, "ee"),
        ("many", OURS_IN, OURS_OUT, "ee"),
    ],
    "anthropic": [
        ({"input_tokens": 5}, 5, OURS_OUT, "ve"),
        ({"output_tokens": 2}, OURS_IN, 2, "ev"),
        ({"input_tokens": None, "output_tokens": 2}, OURS_IN, 2, "ev"),
        ({"input_tokens": 5, "output_tokens": None}, 5, OURS_OUT, "ve"),
        ({"input_tokens": -1, "output_tokens": 2}, OURS_IN, 2, "ev"),
        ({"input_tokens": 5, "output_tokens": NAN}, 5, OURS_OUT, "ve"),
        ({"input_tokens": VAST, "output_tokens": 2}, OURS_IN, 2, "ev"),
        ({"input_tokens": 0, "cache_read_input_tokens": 9, "output_tokens": 2}, 9, 2, "vv"),
        ({"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 2}, 5, 2, "vv"),
        ({"input_tokens": 5, "cache_read_input_tokens": "x", "output_tokens": 2}, 5, 2, "vv"),
        ({}, OURS_IN, OURS_OUT, "ee"),
        ("many", OURS_IN, OURS_OUT, "ee"),
    ],
    "cohere": [
        ({"billed_units": {"input_tokens": 5}}, 5, OURS_OUT, "ve"),
        ({"billed_units": {"output_tokens": 2}}, OURS_IN, 2, "ev"),
        ({"tokens": {"input_tokens": 5, "output_tokens": 2}}, 5, 2, "vv"),
        ({"billed_units": {"input_tokens": NAN, "output_tokens": 2}}, OURS_IN, 2, "ev"),
        ({"billed_units": None}, OURS_IN, OURS_OUT, "ee"),
        ("many", OURS_IN, OURS_OUT, "ee"),
    ],
    "converse": [
        ({"inputTokens": 5}, 5, OURS_OUT, "ve"),
        ({"outputTokens": 2}, OURS_IN, 2, "ev"),
        ({"inputTokens": 20, "totalTokens": 60}, 20, 40, "vv"),
        ({"inputTokens": 10, "outputTokens": 5, "totalTokens": 12}, 10, 5, "vv"),
        ({"inputTokens": -1, "outputTokens": 2}, OURS_IN, 2, "ev"),
        ("many", OURS_IN, OURS_OUT, "ee"),
    ],
    "llama": [
        ({"inputTokenCount": 5}, 5, OURS_OUT, "ve"),
        ({"outputTokenCount": 2}, OURS_IN, 2, "ev"),
    ],
    "mistral-raw": [
        ({"inputTokenCount": 5}, 5, OURS_OUT, "ve"),
        ({"outputTokenCount": 2}, OURS_IN, 2, "ev"),
    ],
    "llmengine_v1": [
        ({"num_prompt_tokens": 5}, 5, OURS_OUT, "ve"),
        ({"num_completion_tokens": 2}, OURS_IN, 2, "ev"),
        ({"num_prompt_tokens": None, "num_completion_tokens": 2}, OURS_IN, 2, "ev"),
        ({"num_prompt_tokens": -1, "num_completion_tokens": 2}, OURS_IN, 2, "ev"),
    ],
}


def vast(reply: Reply) -> Reply:
    """Return the reply with its placeholder replaced by a number that no float can hold."""
    swap = f'"{VAST}"'.encode()
    body = [
        step.replace(swap, b"1e400") if isinstance(step, bytes) else step for step in reply.body
    ]
    return replace(reply, body=body)


def answer(wire: Wire, usage: Any, stream: bool) -> Reply:
    """Return a response with a text and this usage."""
    if not stream:
        return vast(wire.whole(Part(TEXT, wire.stop), usage=usage))
    end = wire.event(Part("", wire.stop), usage=usage)
    return vast(wire.stream(wire.opening(), wire.event(Part(TEXT)), end, wire.mark))


@BOTH
@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name, cases in CASES.items() for case in cases]
)
def test_a_half_gets_its_other_half_and_each_side_says_who_counted_it(
    site: Site, name: str, case: Case, stream: bool
) -> None:
    usage, prompt, completion, marks = case
    wire = WIRES[name]
    site.says(answer(wire, usage, stream))
    told = site.ask(wire, stream=stream)
    assert told.is_whole(), told
    assert told.texts == {0: TEXT}
    assert told.counts == (prompt, completion)
    sides = [MARKS[mark] for mark in marks]
    recorded = site.event()
    assert books(recorded) == ("completed", prompt, completion, *sides)
    assert recorded.source == ("estimated" if "e" in marks else "vendor")


@BOTH
@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("text", openai(None, None, 9)),
        ("chat", openai(None, None, 9)),
        ("text", openai(NAN, VAST, 9)),
        ("gemini", google(total=9)),
        ("converse", {"totalTokens": 9}),
    ],
)
def test_a_total_alone_stands_and_is_split_by_an_estimate(
    site: Site, name: str, usage: Any, stream: bool
) -> None:
    wire = WIRES[name]
    site.says(answer(wire, usage, stream))
    told = site.ask(wire, stream=stream)
    assert told.counts == (OURS_IN, 9 - OURS_IN)
    assert books(site.event()) == ("completed", OURS_IN, 9 - OURS_IN, "estimated", "estimated")


@BOTH
def test_a_total_that_is_less_than_its_parts_is_logged(
    site: Site, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        site.says(answer(WIRES["text"], openai(10, 5, 12), stream))
        assert site.ask("text/m", stream=stream).counts == (10, 5)
        site.event()
    assert [r for r in caplog.records if r.name.startswith("app") and "12" in r.getMessage()]


CACHED: list[tuple[str, Any]] = [
    ("text", {**openai(20, 7, 27), "prompt_tokens_details": {"cached_tokens": 8}}),
    ("text", {**openai(20, 7, 27), "cached_tokens": 8}),
    ("text", {**openai(20, 7, 27), "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 12}),
    ("text", {**openai(20, 7, 27), "cached_tokens": 8, "prompt_tokens_details": None}),
    ("text", {**openai(20, 7, 27), "cached_tokens": 8, "prompt_tokens_details": {}}),
    ("chat", {**openai(20, 7, 27), "cached_tokens": 8}),
    ("chat", {**openai(20, 7, 27), "prompt_cache_hit_tokens": 8}),
    ("fim", {**openai(20, 7, 27), "cached_tokens": 8.0}),
    ("llmengine", {**openai(20, 7, 27), "cached_tokens": 8}),
    ("launch", {**openai(20, 7, 27), "cached_tokens": 8}),
    ("gemini", {**google(prompt=20, candidates=7, total=27), "cachedContentTokenCount": 8}),
]


@BOTH
@pytest.mark.parametrize(("name", "usage"), CACHED)
def test_what_came_from_a_cache_is_told_wherever_the_vendor_keeps_it(
    site: Site, name: str, usage: Any, stream: bool
) -> None:
    wire = WIRES[name]
    site.says(answer(wire, usage, stream))
    told = site.ask(wire, stream=stream)
    assert told.counts == (20, 7)
    assert told.usage is not None
    assert told.usage["prompt_tokens_details"]["cached_tokens"] == 8
    assert site.event().cached_tokens == 8


@BOTH
def test_no_more_is_cached_than_was_read(site: Site, stream: bool) -> None:
    site.says(answer(WIRES["text"], {**openai(20, 7, 27), "cached_tokens": 99}, stream))
    assert site.ask("text/m", stream=stream).counts == (20, 7)
    assert site.event().cached_tokens <= 20


# Where a usage is.

USAGE = openai(20, 7, 27)


def wholes(wire: OpenAI) -> dict[str, Reply]:
    """Return whole responses with the usage in different places."""
    parts = (Part(TEXT, "stop"),)
    beside = (replace(parts[0], more={"usage": USAGE}),)
    half = (replace(parts[0], more={"usage": openai(20)}),)
    return {
        "beside the choices": wire.whole(*parts, usage=USAGE),
        "in the choice": wire.whole(*beside),
        "in the choice, and null beside it": wire.whole(*beside, usage=None),
        "of groq's": wire.whole(*parts, x_groq={"id": "r", "usage": USAGE}),
        "half in each": wire.whole(*half, usage=openai(None, 7)),
    }


def streams(wire: OpenAI) -> dict[str, list[bytes]]:
    """Return streams with the usage in different places."""
    text, end = wire.event(Part(TEXT)), wire.event(Part("", "stop"))
    beside = Part("", "stop", more={"usage": USAGE})
    running = [
        wire.event(Part(word), usage=openai(20, at, 20 + at))
        for at, word in enumerate(("alpha", " beta", " gamma"), 1)
    ]
    groq = data({**wire.chunk(Part("", "stop")), "x_groq": {"id": "r", "usage": USAGE}})
    last = wire.event(usage=USAGE)
    return {
        "in a chunk of its own": [text, end, last, wire.mark],
        "with the reason": [text, wire.event(Part("", "stop"), usage=USAGE), wire.mark],
        "with the text and the reason": [wire.event(Part(TEXT, "stop"), usage=USAGE), wire.mark],
        "in the choice": [text, wire.event(beside), wire.mark],
        "of groq's": [text, groq, wire.mark],
        "in every chunk": [*running, wire.event(Part("", "stop"), usage=USAGE), wire.mark],
        "after zeros": [
            wire.event(Part(TEXT), usage=openai(0, 0, 0)),
            end,
            last,
            wire.mark,
        ],
        "before zeros": [text, end, last, wire.event(usage=openai(0, 0, 0)), wire.mark],
        "before a half": [text, end, last, wire.event(usage=openai(20)), wire.mark],
        "before nonsense": [text, end, last, wire.event(usage="none"), wire.mark],
        "a half first, a half last": [
            wire.event(Part(TEXT), usage=openai(20)),
            wire.event(Part("", "stop"), usage=openai(None, 7)),
            wire.mark,
        ],
        "after the end mark": [text, end, wire.mark + last],
        "after the end mark, before another": [text, end, wire.mark + last + wire.mark],
    }


OPENAI_WIRES = ("text", "chat", "azure-chat", "llmengine", "fim")
PLACES = list(wholes(OpenAI("m/m", chat=False)))
STREAMED_PLACES = list(streams(OpenAI("m/m", chat=False)))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", OPENAI_WIRES)
def test_a_usage_is_found_wherever_it_is(site: Site, name: str, place: str) -> None:
    wire = WIRES[name]
    assert isinstance(wire, OpenAI)
    site.says(wholes(wire)[place])
    assert site.ask(wire).counts == (20, 7)
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


@pytest.mark.parametrize("place", STREAMED_PLACES)
@pytest.mark.parametrize("name", OPENAI_WIRES)
def test_a_streams_usage_is_found_wherever_it_is(site: Site, name: str, place: str) -> None:
    wire = WIRES[name]
    assert isinstance(wire, OpenAI)
    site.says(wire.stream(*streams(wire)[place]))
    told = site.ask(wire, stream=True)
    assert told.is_whole(), told
    assert (told.texts, told.reasons, told.counts) == ({0: TEXT}, {0: ["stop"]}, (20, 7))
    assert [bool(chunk["choices"]) for chunk in told.chunks if chunk.get("usage")] == [False]
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)


# Counts of each choice, and counts of all of them.

N3 = ("text", "chat", "azure-chat", "llmengine", "launch")
WORDS = 5


def of_choices(order: str) -> list[tuple[int, int]]:
    """Return pairs of an index and the words of that choice so far."""
    if order == "one by one":
        return [(index, at) for index in range(3) for at in range(1, WORDS + 1)]
    if order == "at once":
        return [(index, WORDS) for index in range(3)]
    return [(index, at) for at in range(1, WORDS + 1) for index in range(3)]


ORDERS = ("by turns", "one by one", "at once")


def running(wire: Wire, order: str, *, summed: bool) -> list[bytes]:
    """Return three choices with running counts: one for each, or one for all."""
    events = []
    for said, (index, at) in enumerate(of_choices(order), 1):
        words = WORDS if order == "at once" else 1
        count = said * words if summed else at
        reason = wire.stop if at == WORDS else None
        usage = wire.usage(Counts(5, count))
        events.append(wire.event(Part(" word" * words, reason, index), usage=usage))
    return events


@pytest.mark.parametrize(
    ("order", "summed"),
    # a count for each choice alone is its own: that it grows from one to the next says nothing
    [
        (order, summed)
        for order in ORDERS
        for summed in (False, True)
        if order != "at once" or not summed
    ],
)
@pytest.mark.parametrize("name", N3)
def test_running_counts_of_three_samples_are_summed_once(
    site: Site, name: str, order: str, summed: bool
) -> None:
    wire = WIRES[name]
    site.says(wire.stream(*running(wire, order, summed=summed), wire.mark))
    told = site.ask(wire, stream=True, n=3)
    assert told.is_whole(), told
    assert by_index(told.texts) == [" word" * WORDS] * 3
    assert told.counts == (5, 15)
    assert books(site.event()) == ("completed", 5, 15, *BY_VENDOR)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", N3)
def test_a_final_count_stands_whatever_was_counted_before(
    site: Site, name: str, order: str
) -> None:
    wire = WIRES[name]
    final = wire.event(usage=wire.usage(Counts(6, 16)))
    site.says(wire.stream(*running(wire, order, summed=False), final, wire.mark))
    told = site.ask(wire, stream=True, n=3)
    assert told.counts == (6, 16)
    assert books(site.event()) == ("completed", 6, 16, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "llmengine", "launch", "azure-text"])
def test_running_counts_of_several_prompts_have_each_its_own_prompt(site: Site, name: str) -> None:
    wire = WIRES[name]
    prompts = (4, 6)
    events = [
        wire.event(
            Part(" word", wire.stop if at == WORDS else None, index),
            usage=wire.usage(Counts(prompts[index], at)),
        )
        for at in range(1, WORDS + 1)
        for index in range(2)
    ]
    site.says(wire.stream(*events, wire.mark))
    told = site.ask(wire, stream=True, prompt=["a b c d", "a b c d e f"])
    assert told.counts == (10, 10)
    assert books(site.event()) == ("completed", 10, 10, *BY_VENDOR)


@pytest.mark.parametrize("name", ["gemini", "vertex"])
def test_googles_counts_are_of_all_candidates(site: Site, name: str) -> None:
    wire = WIRES[name]
    first = wire.event(Part("a", wire.stop, 0), usage=wire.usage(Counts(5, 9)))
    second = wire.event(Part("b", wire.stop, 1), usage=wire.usage(Counts(5, 15)))
    site.says(wire.stream(first, second))
    assert site.ask(wire, stream=True, n=2).counts == (5, 15)
    assert books(site.event()) == ("completed", 5, 15, *BY_VENDOR)


@pytest.mark.parametrize("name", ["text", "chat"])
def test_a_usage_in_each_choice_of_a_whole_answer_is_summed(site: Site, name: str) -> None:
    wire = WIRES[name]
    parts = [Part("a", "stop", i, {"usage": openai(5, 5, 10)}) for i in range(3)]
    site.says(wire.whole(*parts))
    assert site.ask(wire, n=3).counts == (5, 15)
    assert books(site.event()) == ("completed", 5, 15, *BY_VENDOR)


@BOTH
def test_calls_side_by_side_add_up_and_one_estimate_marks_its_side(
    site: Site, stream: bool
) -> None:
    wire = WIRES["chat"]
    usages = {"one": openai(20, 7, 27), "two": openai(5)}

    def reply(asked: Any) -> Reply:
        prompt = asked.body["messages"][0]["content"]
        return answer(wire, usages[prompt], stream)

    site.always(reply)
    told = site.ask(wire, stream=stream, prompt=["one", "two"])
    assert told.counts == (25, 7 + OURS_OUT)
    assert books(site.event()) == ("completed", 25, 7 + OURS_OUT, "vendor", "estimated")
