"""Every entry of the vendor table takes a feature, or refuses it by name before any call.

What is in between is what callers of other gateways suffer from: a vendor's refusal of what the
gateway sent, or a feature that is left out without a word. The simulated vendors refuse both.
"""

from collections.abc import Mapping
from typing import Any

import openai
import pytest

from tests.contract.chat.scenarios import CALLED, CITY, COUNTS, PNG, RESULT, ROME, USER, WEATHER
from tests.contract.chat.site import Site
from tests.support.vendors.chat.anthropic import AnthropicChat
from tests.support.vendors.chat.bedrock import BedrockChat
from tests.support.vendors.chat.cohere import CohereChat
from tests.support.vendors.chat.gemini import GeminiChat
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer, Text, Thought

PDF = "data:application/pdf;base64,JVBERi0xLjQK"
CALLING = {"tools": [WEATHER]}


def part(**of: Any) -> list[Any]:
    return [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, of]}]


#: Feature -> the messages, what else is in the request, and the field that a refusal names.
FEATURES: Mapping[str, tuple[list[Any], Mapping[str, Any], str]] = {
    "developer": ([{"role": "developer", "content": "Be short."}, USER], {}, "messages[0]"),
    "system later": (
        [USER, {"role": "assistant", "content": "Warm."}, {"role": "system", "content": "Rhyme."}],
        {},
        "messages",
    ),
    "system alone": ([{"role": "system", "content": "Tell a joke."}], {}, "messages"),
    "users in a row": ([USER, USER], {}, "messages[1]"),
    "assistants in a row": (
        [
            USER,
            {"role": "assistant", "content": "It is"},
            {"role": "assistant", "content": "warm."},
            USER,
        ],
        {},
        "messages[2]",
    ),
    "the assistant last": ([USER, {"role": "assistant", "content": "It is"}], {}, "messages[1]"),
    "a name": ([{**USER, "name": "Bob"}], {}, "messages[0].name"),
    "an empty text": ([{"role": "user", "content": ""}], {}, "messages[0].content"),
    "an empty system text": ([{"role": "system", "content": ""}, USER], {}, "messages[0].content"),
    "an image by URL": (
        part(type="image_url", image_url={"url": "https://ex.org/a.png"}),
        {},
        "messages[0].content[1]",
    ),
    "an image's detail": (
        part(type="image_url", image_url={"url": PNG, "detail": "low"}),
        {},
        "messages[0].content[1]",
    ),
    "sound": (
        part(type="input_audio", input_audio={"data": "UklGRg==", "format": "wav"}),
        {},
        "messages[0].content[1]",
    ),
    "a file": (
        part(type="file", file={"filename": "a b.pdf", "file_data": PDF}),
        {},
        "messages[0].content[1]",
    ),
    "a file by id": (part(type="file", file={"file_id": "file-1"}), {}, "messages[0].content[1]"),
    "a cache mark": (
        part(type="text", text="x", cache_control={"type": "ephemeral"}),
        {},
        "messages[0].content[1]",
    ),
    "empty text beside calls": ([USER, {**CALLED, "content": ""}, RESULT], CALLING, "messages[1]"),
    "our own answer": (
        [USER, {**CALLED, "refusal": None, "annotations": [], "audio": None}, RESULT],
        CALLING,
        "messages[1]",
    ),
    "a result without tools": ([USER, CALLED, RESULT], {}, "tools"),
    "a result and a user": ([USER, CALLED, RESULT, USER], CALLING, "messages[3]"),
    "a result in parts": (
        [USER, CALLED, {**RESULT, "content": [{"type": "text", "text": "warm"}]}],
        CALLING,
        "messages[2].content",
    ),
    "an empty result": ([USER, CALLED, {**RESULT, "content": ""}], CALLING, "messages[2].content"),
    "a strange id": (
        [
            USER,
            {**CALLED, "tool_calls": [{**CALLED["tool_calls"][0], "id": "functions.weather:0"}]},
            {**RESULT, "tool_call_id": "functions.weather:0"},
        ],
        CALLING,
        "messages[1].tool_calls[0].id",
    ),
    "a long id": (
        [
            USER,
            {**CALLED, "tool_calls": [{**CALLED["tool_calls"][0], "id": "c" * 70}]},
            {**RESULT, "tool_call_id": "c" * 70},
        ],
        CALLING,
        "messages[1].tool_calls[0].id",
    ),
    "a call without arguments": (
        [
            USER,
            {
                **CALLED,
                "tool_calls": [
                    {
                        "id": ROME.id,
                        "type": "function",
                        "function": {"name": "weather", "arguments": ""},
                    }
                ],
            },
            RESULT,
        ],
        CALLING,
        "messages[1].tool_calls[0]",
    ),
    "no tools": ([USER], {"tools": [], "tool_choice": "auto"}, "tools"),
    "tool choice auto": ([USER], {**CALLING, "tool_choice": "auto"}, "tool_choice"),
    "tool choice none": ([USER], {**CALLING, "tool_choice": "none"}, "tool_choice"),
    "tool choice required": ([USER], {**CALLING, "tool_choice": "required"}, "tool_choice"),
    "one call at a time": (
        [USER],
        {**CALLING, "parallel_tool_calls": False},
        "parallel_tool_calls",
    ),
    "a strict tool": (
        [USER],
        {"tools": [{**WEATHER, "function": {**WEATHER["function"], "strict": True}}]},
        "tools[0]",
    ),
    "a custom tool": (
        [USER],
        {"tools": [{"type": "custom", "custom": {"name": "run"}}]},
        "tools[0]",
    ),
    "a schema beside tools": ([USER], {**CALLING, "response_format": CITY}, "response_format"),
    "JSON": (
        [{"role": "user", "content": "Answer in JSON."}],
        {"response_format": {"type": "json_object"}},
        "response_format",
    ),
    "plain text": ([USER], {"response_format": {"type": "text"}}, "response_format"),
    "two samples": ([USER], {"n": 2}, "n"),
    "a seed": ([USER], {"seed": 7}, "seed"),
    "a temperature": ([USER], {"temperature": 0.5}, "temperature"),
    "penalties": ([USER], {"frequency_penalty": 0.5}, "frequency_penalty"),
    "log probabilities": ([USER], {"logprobs": True, "top_logprobs": 2}, "logprobs"),
    "a bias": ([USER], {"logit_bias": {"50256": -100}}, "logit_bias"),
    "a limit": ([USER], {"max_completion_tokens": 2000}, "max_completion_tokens"),
    "four stops": ([USER], {"stop": ["a", "b", "c", "d"]}, "stop"),
    "a blank stop": ([USER], {"stop": "\n"}, "stop"),
    "a user": ([USER], {"user": "u-1"}, "user"),
    "metadata": ([USER], {"metadata": {"a": "b"}}, "metadata"),
    "to store": ([USER], {"store": True}, "store"),
    "a tier": ([USER], {"service_tier": "flex"}, "service_tier"),
    "a prediction": (
        [USER],
        {"prediction": {"type": "content", "content": "x"}},
        "prediction",
    ),
    "verbosity": ([USER], {"verbosity": "low"}, "verbosity"),
    "web search": ([USER], {"web_search_options": {}}, "web_search_options"),
    "a cache key": ([USER], {"prompt_cache_key": "k"}, "prompt_cache_key"),
    "an unknown field": ([USER], {"extra_body": {"top_k": 3}}, "top_k"),
}

#: What depends on more than the entry can tell: the vendor itself refuses it, in its words.
VENDOR_REFUSES: Mapping[str, Mapping[str, str]] = {
    "mistral": {
        "a result and a user": "Unexpected role 'user' after role 'tool'",
        "a tier": "'auto', 'standard_only'",
        "system alone": "Expected last role User or Tool",
    },
}


def is_the_vendors(row: str, feature: str) -> bool:
    """Whether the vendor may refuse; it does so with fields that only some vendors know."""
    foreign = isinstance(CHAT_WIRES[row], AnthropicChat | BedrockChat | CohereChat | GeminiChat)
    unknown = feature == "an unknown field" and not foreign
    return unknown or feature in VENDOR_REFUSES.get(row, {})


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("row", sorted(CHAT_WIRES))
def test_it_is_taken_or_refused_by_name(site: Site, row: str, feature: str) -> None:
    messages, more, names = FEATURES[feature]
    site.says(row, Answer((Thought("Hm."), Text("one two")), counts=COUNTS))
    refusal = None
    try:
        completion = site.ask(row, messages, stream=False, **more)
    except openai.BadRequestError as error:
        refusal = error
    if refusal is None:
        texts = [choice.message.content for choice in completion.choices]
        assert texts == ["one two"] * more.get("n", 1)
        assert site.gateway.event().source == "vendor"
    elif site.vendor.asked:
        assert is_the_vendors(row, feature), refusal.message
        assert VENDOR_REFUSES.get(row, {}).get(feature, names) in refusal.message
    else:
        assert (refusal.param or "").startswith(names), refusal.message
