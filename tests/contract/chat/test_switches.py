"""Tool loops that go on at another vendor, as after a failover: no signature ends them.

The simulated vendors refuse signatures that are not theirs.
"""

import itertools
from typing import Any

import pytest

from tests.contract.chat.scenarios import ROME, WEATHER
from tests.contract.chat.site import Site
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought, signature

#: Entries whose replies come back with signatures or reasoning, and the model, if it is not usual.
ROWS = {
    "anthropic": "",
    "bedrock": "",
    "gemini": "gemini-3-pro-preview",
    "vertex_ai": "gemini-3-pro-preview",
    "mistral": "",
    "openrouter": "",
    "deepseek": "",
    "groq": "",
    "cohere": "",
}

PAIRS = list(itertools.permutations(ROWS, 2))

BERN = Call("callBern3", "weather", '{"city": "Bern"}')


def goes_on(site: Site, rows: list[str], *, stream: bool, forgets: bool = False) -> list[Any]:
    """Have a caller run a loop, each step at another entry; return its messages.

    `forgets`: its client keeps only the calls' own fields, as some do.
    """
    messages: list[Any] = [{"role": "user", "content": "Where is it warm?"}]
    steps: list[Any] = [(Thought("First."), ROME), (Thought("Next."), BERN)]
    steps += [(Thought("Done."), Text("It is warm."))] * (len(rows) - 2)
    for row, blocks in zip(rows, steps, strict=True):
        wire: Any = CHAT_WIRES[row]
        site.says(row, Answer(blocks))
        effort = {} if row in ("groq", "cohere") else {"reasoning_effort": "high"}
        more = {"tools": [WEATHER], "max_tokens": 60_000, **effort}
        completion = site.ask(row, messages, stream=stream, name=ROWS[row] or wire.model, **more)
        message = completion.choices[0].message
        said = message.model_dump()
        if forgets:
            said.pop("extra_content", None)
        messages.append(said)
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": "warm"}
            for call in message.tool_calls or []
        ]
    return messages


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_loop_goes_on_at_another_vendor_and_back(
    site: Site, first: str, second: str, stream: bool
) -> None:
    messages = goes_on(site, [first, second, first], stream=stream)
    assert messages[-1]["content"] == "It is warm."
    assert len(site.vendor.asked) == 3  # none has been refused, and sent again
    assert len(site.gateway.events(3)) == 3


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_loop_goes_on_if_a_client_has_lost_where_the_signatures_come_from(
    site: Site, first: str, second: str
) -> None:
    messages = goes_on(site, [first, second, first], stream=False, forgets=True)
    assert messages[-1]["content"] == "It is warm."
    assert len(site.gateway.events(3)) == 3


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_rejected_signature_is_left_out_and_the_caller_is_told(site: Site, stream: bool) -> None:
    site.says("gemini", Answer((Text("Warm."),)))
    signed = {"extra_content": {"google": {"thought_signature": signature("theirs")}}}
    call = {"id": "c1", "type": "function", **signed}
    call["function"] = {"name": "weather", "arguments": "{}"}
    body = {
        "model": "gemini/gemini-3-pro-preview",
        "messages": [
            {"role": "user", "content": "Where is it warm?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "warm"},
        ],
        "tools": [WEATHER],
        "stream": stream,
    }
    response = site.gateway.chat(body)
    assert response.status_code == 200
    assert response.headers["x-tollgate-dropped"] == "extra_content"
    first, second = (asked.body["contents"][1]["parts"][0] for asked in site.vendor.asked)
    assert first["thoughtSignature"] == signature("theirs")
    assert second["thoughtSignature"] == "skip_thought_signature_validator"
    assert site.gateway.event().completion_tokens == Counts().completion
