"""A model that refuses: whose words come as `refusal`, and how the choice ends."""

import pytest

from tests.contract.chat.scenarios import COUNTS, ROME, USER, WEATHER
from tests.contract.chat.site import Site
from tests.support.vendors.chat.script import Answer, Text

WORDS = "I cannot help with that."


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("row", ["openai", "azure"])
def test_openais_refusal_is_a_finished_turn(site: Site, row: str, stream: bool) -> None:
    site.says(row, Answer((), refusal=WORDS, counts=COUNTS))
    (choice,) = site.ask(row, [USER], stream=stream).choices
    assert (choice.message.refusal, choice.finish_reason) == (WORDS, "stop")
    assert not choice.message.content
    event = site.gateway.event()
    assert (event.status, event.completion_tokens) == ("completed", COUNTS.completion)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("blocks", [(), (Text("I"),), (ROME,)], ids=["none", "text", "call"])
def test_anthropics_refusal_is_a_filters(site: Site, blocks: tuple[Text], stream: bool) -> None:
    answer = Answer(blocks, finish="content_filter", refusal=WORDS, counts=COUNTS)
    site.says("anthropic", answer)
    (choice,) = site.ask("anthropic", [USER], stream=stream, tools=[WEATHER]).choices
    assert (choice.message.refusal, choice.finish_reason) == (WORDS, "content_filter")
    assert (choice.message.content or "") == answer.text
    event = site.gateway.event()
    assert (event.status, event.completion_tokens) == ("completed", COUNTS.completion)
