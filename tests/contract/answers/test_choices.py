"""The caller gets the requested choices: n samples of each prompt, each under its own index."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.contract.answers.asked import PROMPT_COUNT, TEXT_COUNT, Ask, Honest, ask_of
from tests.contract.answers.parts import ABSENT, Counts, Part
from tests.contract.answers.site import BY_VENDOR, Site, Told, books, by_index
from tests.contract.answers.wires import LISTING, SAMPLING, SINGLE, WIRES
from tests.support.vendor import Asked, Reply

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
PROMPTS = ["ant", "bee", "cat"]


def check_texts(told: Told, prompts: list[str], n: int) -> None:
    """Check that each choice has one text of its own prompt, and that no two are equal."""
    assert told.is_whole(), told
    texts = by_index(told.texts)
    assert len(texts) == len(prompts) * n
    for index, text in enumerate(texts):
        assert text.startswith(f"{prompts[index // n]}~"), told.texts
        assert text.count("~") == 1, told.texts
    assert len(set(texts)) == len(texts)
    assert by_index(told.reasons) == [["stop"]] * len(texts)


def check_books(site: Site, honest: Honest, told: Told) -> None:
    """Check that all calls are recorded, each with its own prompts."""
    prompt = sum(PROMPT_COUNT * len(ask.prompts) for ask in honest.asks)
    completion = TEXT_COUNT * honest.texts
    assert told.counts == (prompt, completion)
    assert books(site.event()) == ("completed", prompt, completion, *BY_VENDOR)
    assert not site.is_blamed()


@BOTH
@pytest.mark.parametrize("name", SAMPLING)
@pytest.mark.parametrize(("n", "limit"), [(2, 1), (4, 2), (3, 1)])
def test_samples_that_are_missing_are_asked_for_again(
    site: Site, name: str, n: int, limit: int, stream: bool
) -> None:
    honest = Honest(name, limit=lambda _: limit)
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt="ant", n=n)
    check_texts(told, ["ant"], n)
    check_books(site, honest, told)
    assert honest.texts == n  # none was asked for that was here


@BOTH
@pytest.mark.parametrize("name", LISTING)
@pytest.mark.parametrize(("n", "given"), [(1, 1), (1, 2), (2, 2), (2, 3), (2, 5)])
def test_prompts_without_an_answer_are_asked_again(
    site: Site, name: str, n: int, given: int, stream: bool
) -> None:
    honest = Honest(name, limit=lambda call: given if call == 1 else 1000)
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt=PROMPTS, n=n)
    check_texts(told, PROMPTS, n)
    check_books(site, honest, told)
    again = {prompt for ask in honest.asks[1:] for prompt in ask.prompts}
    one_call = not (stream and n > 1)  # such a stream takes a call for each prompt
    if one_call and given != len(PROMPTS):  # else they may be one for each prompt
        assert again == set(PROMPTS[given // n :])  # and no others


@BOTH
@pytest.mark.parametrize("name", SAMPLING)
def test_a_vendor_that_will_not_give_them_all_fails_with_how_many_it_gave(
    site: Site, name: str, stream: bool
) -> None:
    honest = Honest(name, limit=lambda call: 1 if call == 1 else 0)
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt="ant", n=3)
    assert told.error is not None
    assert "1 of 3" in told.error["message"]
    assert told.error["type"] == "vendor_error"
    if stream:
        assert (told.status, told.cut, told.texts) == (200, True, {0: "ant~1"})
    else:
        assert told.status == 502
    assert 1 < len(honest.asks) <= 5  # two further rounds, of which the last may be two calls
    prompt = PROMPT_COUNT * len(honest.asks)
    status = "truncated" if stream else "failed"
    assert books(site.event()) == (status, prompt, TEXT_COUNT, *BY_VENDOR)


@BOTH
@pytest.mark.parametrize("name", ["text", "chat", "gemini"])
def test_a_vendor_that_gives_nothing_at_all_fails_and_is_not_asked_for_ever(
    site: Site, name: str, stream: bool
) -> None:
    honest = Honest(name, limit=lambda _: 0)
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt="ant")
    assert told.status == 502
    assert len(honest.asks) <= 3
    assert books(site.event()) == ("failed", 10 * len(honest.asks), 0, *BY_VENDOR)


@BOTH
@pytest.mark.parametrize("name", SAMPLING)
def test_a_failure_while_the_rest_is_asked_for_says_so_and_is_booked(
    site: Site, name: str, stream: bool
) -> None:
    honest = Honest(name, limit=lambda _: 1)
    refusal = Reply([b'{"error":{"message":"Slow down."}}'], 429, framing="length")
    site.says(honest, refusal, refusal, refusal, refusal)
    told = site.ask(honest.wire, stream=stream, prompt="ant", n=2)
    assert told.error is not None
    status = "truncated" if stream else "failed"
    assert books(site.event()) == (status, PROMPT_COUNT, TEXT_COUNT, *BY_VENDOR)


@BOTH
@pytest.mark.parametrize(("n", "given"), [(1, 2), (2, 4), (1, 5)])
@pytest.mark.parametrize("name", SAMPLING)
def test_choices_that_nobody_asked_for_are_dropped_and_paid(
    site: Site, name: str, n: int, given: int, stream: bool
) -> None:
    honest = Honest(name)

    def generous(asked: Asked) -> Reply:
        honest(asked)  # which says how many there were to be
        parts = [Part(f"ant~{at}", honest.wire.stop, at) for at in range(given)]
        honest.texts = given
        return honest.reply(honest.asks[-1], parts)

    site.always(generous)
    told = site.ask(honest.wire, stream=stream, prompt="ant", n=n)
    check_texts(told, ["ant"], n)
    check_books(site, honest, told)
    assert len(honest.asks) == 1


@BOTH
@pytest.mark.parametrize(
    "name", ["anthropic", "cohere", "converse", "llama", "llmengine_v1", "fim"]
)
def test_wires_with_one_choice_a_call_are_called_for_each(
    site: Site, name: str, stream: bool
) -> None:
    wire, usage = WIRES[name], WIRES[name].usage

    def reply(asked: Asked) -> Reply:
        honest.asks.append(ask := _ask(asked, stream))
        honest.texts += 1
        part = Part(f"{ask.prompts[0]}~{honest.texts}", wire.stop)
        counts = usage(Counts(PROMPT_COUNT, TEXT_COUNT))
        if stream:
            return wire.stream(wire.opening(counts), wire.event(part, usage=counts), wire.mark)
        return wire.whole(part, usage=counts)

    honest = Honest(name)
    site.always(reply)
    told = site.ask(wire, stream=stream, prompt=["ant", "bee"], n=2)
    check_texts(told, ["ant", "bee"], 2)
    check_books(site, honest, told)
    assert len(honest.asks) == 4
    assert name in SINGLE


def _ask(asked: Asked, stream: bool) -> Ask:
    ask = ask_of(asked)
    return Ask(ask.prompts, 1, ask.seed, stream, ask.body)


# Indices.

Numbering = Callable[[list[int]], Sequence[Any]]

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


@pytest.mark.parametrize("name", ["text", "chat", "gemini"])
def test_a_streamed_sample_that_broke_off_is_not_asked_for_again(site: Site, name: str) -> None:
    """The caller already has its beginning, to which another text would be appended."""
    honest = Honest(name)
    wire = WIRES[name]
    parts = [wire.event(Part("ant~1", wire.stop, 0)), wire.event(Part("ant~2", ABSENT, 1))]
    counted = wire.event(usage=wire.usage(Counts(10, 4)))
    site.says(wire.stream(*parts, counted), honest)
    told = site.ask(wire, stream=True, prompt="ant", n=2)
    assert told.cut
    assert told.texts == {0: "ant~1", 1: "ant~2"}
    assert books(site.event()) == ("truncated", 10, 4, *BY_VENDOR)
    assert len(site.vendor.asked) == 1


@BOTH
@pytest.mark.parametrize("name", ["text", "chat", "launch"])
def test_a_whole_sample_that_failed_is_asked_for_again(site: Site, name: str, stream: bool) -> None:
    """Its siblings are kept. The same holds for a stream that has not sent any of its text."""
    honest = Honest(name)
    text = "" if stream else "half"
    site.says(
        lambda asked: honest.reply(
            _ask(asked, stream), [Part("ant~a", "stop", 0), Part(text, "error", 1)]
        ),
        honest,
    )
    told = site.ask(honest.wire, stream=stream, prompt="ant", n=2)
    check_texts(told, ["ant"], 2)
    assert told.texts[0] == "ant~a"
    assert books(site.event()) == ("completed", 20, 6, *BY_VENDOR)


@BOTH
def test_a_sample_that_is_asked_for_again_is_echoed_as_the_others_are(
    site: Site, stream: bool
) -> None:
    honest = Honest("chat", limit=lambda _: 1)
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt="ant ", n=3, echo=True)
    assert told.is_whole(), told
    assert sorted(by_index(told.texts)) == ["ant ant ~1", "ant ant ~2", "ant ant ~3"]
    assert books(site.event()) == ("completed", 30, 6, *BY_VENDOR)


@BOTH
@pytest.mark.parametrize("name", ["chat", "azure-chat", "gemini", "vertex"])
def test_each_prompt_of_a_list_gets_its_samples_where_calls_give_too_few(
    site: Site, name: str, stream: bool
) -> None:
    honest = Honest(name, limit=lambda _: 1)
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt=PROMPTS, n=2)
    check_texts(told, PROMPTS, 2)
    check_books(site, honest, told)


@BOTH
def test_a_list_of_which_one_prompt_stays_without_an_answer_says_how_many_it_has(
    site: Site, stream: bool
) -> None:
    honest = Honest("text", limit=lambda call: 2 if call == 1 else 0)
    site.always(honest)
    told = site.ask(honest.wire, stream=stream, prompt=PROMPTS)
    assert told.error is not None
    assert "2 of 3" in told.error["message"]
    status = "truncated" if stream else "failed"
    assert books(site.event())[0] == status


@BOTH
def test_what_is_asked_for_again_is_the_callers_request_in_all_else(
    site: Site, stream: bool
) -> None:
    honest = Honest("text", limit=lambda call: 3 if call == 1 else 1000)
    site.always(honest)
    fields = {"temperature": 0.5, "stop": ["!"], "user": "u", "ignore_eos": True}
    assert site.ask(honest.wire, stream=stream, prompt=PROMPTS, n=2, **fields).is_whole()
    first, *again = honest.asks
    assert again
    for ask in again:
        rest = {k: v for k, v in ask.body.items() if k not in ("n", "prompt")}
        assert rest == {k: v for k, v in first.body.items() if k not in ("n", "prompt")}


#: Numbers of a stream's choices that only the whole stream tells the meaning of.
LATE: dict[str, Numbering] = {
    "from one": lambda right: [index + 1 for index in right],
    "all alike": lambda right: [0] * len(right),
    "none": lambda right: [ABSENT] * len(right),
    "null": lambda right: [None] * len(right),
}


@pytest.mark.parametrize("numbering", LATE)
@pytest.mark.parametrize("name", LISTING)
def test_a_streamed_text_is_under_no_other_prompt_whatever_its_number(
    site: Site, name: str, numbering: str
) -> None:
    honest = Honest(name, number=LATE[numbering])
    site.always(honest)
    told = site.ask(honest.wire, stream=True, prompt=PROMPTS)
    check_texts(told, PROMPTS, 1)
    check_books(site, honest, told)
