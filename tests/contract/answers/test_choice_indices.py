"""Choices are told apart by their indices, or by their places."""

from typing import Any

import pytest

from tests.contract.answers.asked import Honest
from tests.contract.answers.choice_checks import BOTH, PROMPTS, Numbering, check_books, check_texts
from tests.contract.answers.parts import ABSENT, Counts, Part
from tests.contract.answers.site import BY_VENDOR, Site, books, by_index
from tests.contract.answers.wires import LISTING, SAMPLING, WIRES
from tests.support.vendor import Asked, Reply

#: Odd numbers for three choices: those of one prompt are as good as each other.
SAMPLES: dict[str, Numbering] = {
    "all alike": lambda right: [0] * len(right),
    "none": lambda right: [ABSENT] * len(right),
    "null": lambda right: [None] * len(right),
    "from one": lambda right: [index + 1 for index in right],
    "far out": lambda right: [index * 2 + 5 for index in right],
    "from below": lambda right: [index - 1 for index in right],
    "one twice": lambda right: [*right[:-1], right[-2]],
    "one far out": lambda right: [*right[:-1], 7],
    "one below": lambda right: [*right[:-1], -1],
    "texts": lambda right: [str(index) for index in right],
    "floats": lambda right: [float(index) for index in right],
    "flags": lambda right: [True] * len(right),
    "vast": lambda right: [2**70 + index for index in right],
}


@pytest.mark.parametrize("numbering", SAMPLES)
@pytest.mark.parametrize("name", SAMPLING)
def test_samples_of_one_prompt_are_told_apart_whatever_their_numbers(
    site: Site, name: str, numbering: str
) -> None:
    honest = Honest(name, number=SAMPLES[numbering])
    site.always(honest)
    told = site.ask(honest.wire, prompt="ant", n=3)
    check_texts(told, ["ant"], 3)
    check_books(site, honest, told)
    assert len(honest.asks) == 1  # they are as good as each other


#: Those that tell the pieces of a stream apart.
APART = ("from one", "far out", "from below", "one far out", "one below")


@pytest.mark.parametrize("numbering", APART)
@pytest.mark.parametrize("name", SAMPLING)
def test_streamed_samples_of_one_prompt_are_told_apart_by_any_numbers(
    site: Site, name: str, numbering: str
) -> None:
    wire, usage = WIRES[name], WIRES[name]
    indices = SAMPLES[numbering]([0, 1, 2])
    begun = [wire.event(Part(f"ant~{at}", index=index)) for at, index in enumerate(indices)]
    rest = [wire.event(Part("!", index=index)) for index in reversed(indices)]
    ends = [wire.event(Part("", wire.stop, index)) for index in indices]
    counted = wire.event(usage=usage.usage(Counts(10, 6)))
    site.says(wire.stream(*begun, *rest, *ends, counted, wire.mark))
    told = site.ask(wire, stream=True, prompt="ant", n=3)
    assert told.is_whole(), told
    assert sorted(by_index(told.texts)) == ["ant~0!", "ant~1!", "ant~2!"]
    assert by_index(told.reasons) == [["stop"]] * 3
    assert books(site.event()) == ("completed", 10, 6, *BY_VENDOR)


@pytest.mark.parametrize("together", [True, False], ids=["in one event", "one by one"])
@pytest.mark.parametrize("numbering", ["all alike", "one twice"])
@pytest.mark.parametrize("name", ["text", "chat", "azure-text", "gemini", "launch"])
def test_streamed_samples_that_are_numbered_alike_are_never_one_choice(
    site: Site, name: str, numbering: str, together: bool
) -> None:
    honest = Honest(name, number=SAMPLES[numbering], together=together)
    site.always(honest)
    told = site.ask(honest.wire, stream=True, prompt="ant", n=3)
    check_texts(told, ["ant"], 3)
    check_books(site, honest, told)


@BOTH
@pytest.mark.parametrize("index", [1, 7, -1, ABSENT, None, "0"])
@pytest.mark.parametrize("name", ["text", "chat", "azure-text", "gemini", "launch", "fim"])
def test_the_only_choice_is_the_one_that_was_asked_for(
    site: Site, name: str, index: Any, stream: bool
) -> None:
    honest = Honest(name, number=lambda _: [index])
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt="ant")
    check_texts(told, ["ant"], 1)
    check_books(site, honest, told)


@BOTH
@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("name", LISTING)
def test_choices_in_another_order_are_each_under_their_own_number(
    site: Site, name: str, order: tuple[int, ...], stream: bool
) -> None:
    honest = Honest(name)

    def shuffled(asked: Asked) -> Reply:
        honest(asked)
        parts = [Part(f"{PROMPTS[at]}~{at}", "stop", at) for at in order]
        return honest.reply(honest.asks[-1], parts)

    site.always(shuffled)
    told = site.ask(honest.wire, stream=stream, prompt=PROMPTS)
    check_texts(told, PROMPTS, 1)
    check_books(site, honest, told)


#: Numbers of a list's choices that leave no doubt: there are as many as were asked for.
BY_PLACE: dict[str, tuple[int, Numbering]] = {
    "all alike": (1, lambda right: [0] * len(right)),
    "none": (1, lambda right: [ABSENT] * len(right)),
    "null": (1, lambda right: [None] * len(right)),
    "from one": (1, lambda right: [index + 1 for index in right]),
    "anew for each prompt": (2, lambda right: [index % 2 for index in right]),
    "anew for each prompt, from one": (2, lambda right: [index % 2 + 1 for index in right]),
    "of the prompts": (2, lambda right: [index // 2 for index in right]),
    "none, two each": (2, lambda right: [ABSENT] * len(right)),
}


@pytest.mark.parametrize("numbering", BY_PLACE)
@pytest.mark.parametrize("name", LISTING)
def test_choices_of_several_prompts_go_by_their_place_where_their_numbers_say_nothing(
    site: Site, name: str, numbering: str
) -> None:
    n, number = BY_PLACE[numbering]
    honest = Honest(name, number=number)
    site.always(honest)
    told = site.ask(honest.wire, prompt=PROMPTS, n=n)
    check_texts(told, PROMPTS, n)
    check_books(site, honest, told)
    assert len(honest.asks) == 1


#: Numbers of a list's choices of which one cannot be right.
DOUBTFUL: dict[str, Numbering] = {
    "one twice": lambda right: [*right[:-1], right[-2]],
    "one far out": lambda right: [*right[:-1], 7],
    "one below": lambda right: [*right[:-1], -1],
    "one vast": lambda right: [*right[:-1], 2**70],
    "one a text": lambda right: [*right[:-1], "last"],
}


@BOTH
@pytest.mark.parametrize("numbering", DOUBTFUL)
@pytest.mark.parametrize("name", LISTING)
def test_a_text_that_may_be_of_another_prompt_is_asked_for_again(
    site: Site, name: str, numbering: str, stream: bool
) -> None:
    honest = Honest(name, number=DOUBTFUL[numbering])
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt=PROMPTS)
    check_texts(told, PROMPTS, 1)
    check_books(site, honest, told)


@BOTH
@pytest.mark.parametrize("name", LISTING)
def test_a_vendor_that_ignores_n_puts_no_text_under_another_prompt(
    site: Site, name: str, stream: bool
) -> None:
    """It returns one choice per prompt: index 1 is not the second sample of prompt 0."""
    honest = Honest(name)

    def one_each(asked: Asked) -> Reply:
        honest(asked)
        ask = honest.asks[-1]
        parts = [Part(f"{p}~{honest.texts}.{at}", "stop", at) for at, p in enumerate(ask.prompts)]
        return honest.reply(ask, parts)

    site.always(one_each)
    told = site.ask(honest.wire, stream=stream, prompt=["ant", "bee"], n=2)
    for index, text in told.texts.items():
        assert text.startswith(f"{['ant', 'bee'][index // 2]}~"), told.texts
        assert text.count("~") == 1, told.texts
