"""The caller gets the requested choices: n samples of each prompt, each under its own index."""

import pytest

from tests.contract.answers.asked import PROMPT_COUNT, TEXT_COUNT, Ask, Honest, ask_of
from tests.contract.answers.choice_checks import BOTH, PROMPTS, check_books, check_texts
from tests.contract.answers.parts import ABSENT, Counts, Part
from tests.contract.answers.site import BY_VENDOR, Site, books
from tests.contract.answers.wires import LISTING, SAMPLING, SINGLE, WIRES
from tests.support.vendor import Asked, Reply


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
