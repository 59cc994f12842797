"""Samples that are requested again: their echo, their prompts and their parameters."""

import pytest

from tests.contract.answers.asked import Honest
from tests.contract.answers.choice_checks import BOTH, PROMPTS, Numbering, check_books, check_texts
from tests.contract.answers.parts import ABSENT
from tests.contract.answers.site import BY_VENDOR, Site, books, by_index
from tests.contract.answers.wires import LISTING


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
