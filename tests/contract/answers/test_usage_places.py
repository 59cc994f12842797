"""The usage is found wherever the vendor puts it, and summed over choices."""

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.answers.openai_wires import OpenAI
from tests.contract.answers.parts import Counts, Part, Wire, data
from tests.contract.answers.site import (
    BY_VENDOR,
    TEXT,
    Site,
    books,
    by_index,
)
from tests.contract.answers.usage_objects import BOTH, OURS_OUT, answer, openai
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Reply

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
