"""Two samples with calls: where a vendor has no `n`, it is called twice, and all of it counts."""

import json

import pytest

from tests.contract.chat.scenarios import COUNTS, OSLO, ROME, USER, WEATHER
from tests.contract.chat.site import Site
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer

SINGLE = ("tgi",)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("row", sorted(CHAT_WIRES))
def test_each_sample_has_its_calls(site: Site, row: str, stream: bool) -> None:
    calls = (ROME,) if row in SINGLE else (ROME, OSLO)
    site.says(row, Answer(calls, counts=COUNTS))
    completion = site.ask(row, [USER], stream=stream, tools=[WEATHER], n=2)
    assert [choice.index for choice in completion.choices] == [0, 1]
    for choice in completion.choices:
        found = [json.loads(call.function.arguments) for call in choice.message.tool_calls]
        assert found == [call.input for call in calls]
        assert choice.finish_reason == "tool_calls"
    asked = len(site.vendor.asked)
    assert asked in (1, 2)
    assert completion.usage.completion_tokens == 2 * COUNTS.completion
    assert completion.usage.prompt_tokens == asked * COUNTS.prompt
    event = site.gateway.event()
    assert (event.prompt_tokens, event.completion_tokens) == (
        asked * COUNTS.prompt,
        2 * COUNTS.completion,
    )
