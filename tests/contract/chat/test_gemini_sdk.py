"""Google's own client holds a conversation with the simulators: its tool loop, its streams."""

from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from pydantic import BaseModel

from tests.contract.test_gemini_sdk import client_for
from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.gemini import GeminiChat, VertexChat
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought
from tests.support.vendors.chat.scripted import speak

LOOP = (
    Answer((Thought("First."), Call("fc-1", "weather", '{"city": "Rome"}'), Call("fc-2", "today"))),
    Answer((Call("fc-3", "weather", '{"city": "Oslo"}'),)),
    Answer((Thought("Done."), Text("It is warm."))),
)
OLD, NEW = "gemini-2.5-flash", "gemini-3-pro-preview"


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"warm in {city}"


def today() -> str:
    """Tell the date."""
    return "Monday"


@pytest.fixture(params=[GeminiChat(), VertexChat()], ids=["gemini", "vertex_ai"])
def wire(request: pytest.FixtureRequest) -> GeminiChat:
    """Each API in turn."""
    wire: GeminiChat = request.param
    return wire


@pytest.fixture
def client(wire: GeminiChat, vendor: SimulatedVendor) -> Iterator[genai.Client]:
    with client_for(wire, vendor, "sk-test") as client:
        yield client


def signatures(asked: Any) -> list[bool]:
    return [
        "thoughtSignature" in part
        for content in asked.body["contents"]
        for part in content["parts"]
        if "functionCall" in part
    ]


@pytest.mark.parametrize("model", [OLD, NEW])
@pytest.mark.parametrize("streamed", [False, True])
def test_its_function_calling_brings_signatures_back(
    client: genai.Client, wire: GeminiChat, vendor: SimulatedVendor, model: str, streamed: bool
) -> None:
    speak(vendor, wire, *LOOP)
    chat = client.chats.create(
        model=model, config=types.GenerateContentConfig(tools=[weather, today])
    )
    if streamed:
        chunks = list(chat.send_message_stream("Hi"))
        text = "".join(part.text or "" for chunk in chunks for part in chunk.parts or [])
    else:
        text = chat.send_message("Hi").text or ""
    assert text == "It is warm."
    assert len(vendor.asked) == 3
    third = model == NEW
    assert signatures(vendor.asked[-1]) == [third, False, third]


@pytest.mark.parametrize("streamed", [False, True])
def test_it_reads_every_count(
    client: genai.Client, wire: GeminiChat, vendor: SimulatedVendor, streamed: bool
) -> None:
    counts = Counts(
        prompt=240,
        completion=50,
        cached=25,
        reasoning=20,
        tool_prompt=200,
        image_prompt=10,
        image_completion=30,
    )
    speak(vendor, wire, Answer(counts=counts))
    models = client.models
    if streamed:
        answer = list(models.generate_content_stream(model=OLD, contents="Hi"))[-1]
    else:
        answer = models.generate_content(model=OLD, contents="Hi")
    usage = answer.usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.tool_use_prompt_token_count) == (40, 200)
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (30, 20)
    assert (usage.total_token_count, usage.cached_content_token_count) == (290, 25)
    assert usage.candidates_tokens_details is not None
    assert [one.modality for one in usage.candidates_tokens_details] == [types.MediaModality.IMAGE]


def test_thoughts_are_shown_if_asked_for(
    client: genai.Client, wire: GeminiChat, vendor: SimulatedVendor
) -> None:
    speak(vendor, wire, Answer((Thought("Hm."), Text("A b"))))
    config = types.GenerateContentConfig(
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=100)
    )
    answer = client.models.generate_content(model=OLD, contents="Hi", config=config)
    assert [(p.text, p.thought) for p in answer.parts or []] == [("Hm.", True), ("A b", None)]
    assert (answer.parts or [])[1].thought_signature


def test_its_schemas_are_accepted_and_parsed(
    client: genai.Client, wire: GeminiChat, vendor: SimulatedVendor
) -> None:
    class City(BaseModel):
        name: str
        people: int | None

    speak(vendor, wire, Answer((Text('{"name": "Rome", "people": 3}'),)))
    config = types.GenerateContentConfig(
        response_mime_type="application/json", response_schema=City
    )
    answer = client.models.generate_content(model=OLD, contents="Hi", config=config)
    assert answer.parsed == City(name="Rome", people=3)


@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_it_raises_what_breaks_a_stream(
    client: genai.Client, wire: GeminiChat, vendor: SimulatedVendor, breaks: Any
) -> None:
    speak(vendor, wire, Answer(breaks=breaks))
    with pytest.raises(Exception, match=r"overloaded|peer closed|incomplete|reset") as caught:
        list(client.models.generate_content_stream(model=OLD, contents="Hi"))
    assert isinstance(caught.value, errors.APIError) is (breaks == "error")


USER: Any = {"role": "user", "parts": [{"text": "hi"}]}
CALLED: Any = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]}
RESULT: Any = {
    "role": "user",
    "parts": [{"functionResponse": {"name": "f", "response": {"output": "x"}}}],
}
TOOLS: Any = [{"functionDeclarations": [{"name": "f"}]}]


def declared(**fields: Any) -> Any:
    return [{"functionDeclarations": [{"name": "f", **fields}]}]


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "no contents": (OLD, {"contents": []}, "not specified"),
    "a role": (OLD, {"contents": [{**USER, "role": "assistant"}]}, "valid role"),
    "no part": (OLD, {"contents": [{"role": "user", "parts": []}]}, "must not be empty"),
    "an empty part": (OLD, {"contents": [{"role": "user", "parts": [{}]}]}, "oneof"),
    "an empty text": (OLD, {"contents": [{"role": "user", "parts": [{"text": ""}]}]}, "not empty"),
    "a call first": (OLD, {"contents": [CALLED, RESULT]}, "function call turn"),
    "results of none": (OLD, {"contents": [USER, RESULT]}, "function response turn"),
    "too few results": (
        OLD,
        {"contents": [USER, {"role": "model", "parts": CALLED["parts"] * 2}, RESULT]},
        "number of function response parts",
    ),
    "another function's result": (
        OLD,
        {
            "contents": [
                USER,
                CALLED,
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "g", "response": {}}}],
                },
            ]
        },
        "not those of",
    ),
    "no signature": (NEW, {"contents": [USER, CALLED, RESULT]}, "missing a thought_signature"),
    "a changed signature": (
        NEW,
        {
            "contents": [
                USER,
                {"role": "model", "parts": [{**CALLED["parts"][0], "thoughtSignature": "c2ln"}]},
                RESULT,
            ]
        },
        "Corrupted thought signature",
    ),
    "an id at an old model": (
        OLD,
        {
            "contents": [
                USER,
                {"role": "model", "parts": [{"functionCall": {"name": "f", "id": "1"}}]},
                RESULT,
            ]
        },
        "id",
    ),
    "an unknown field": (OLD, {"contents": [USER], "n": 1}, 'Unknown name "n"'),
    "an unknown keyword": (
        OLD,
        {
            "contents": [USER],
            "tools": declared(
                parameters={"type": "OBJECT", "properties": {"a": {"$ref": "#/$defs/A"}}}
            ),
        },
        r"\$ref",
    ),
    "two types": (
        OLD,
        {
            "contents": [USER],
            "tools": declared(
                parameters={"type": "OBJECT", "properties": {"a": {"type": ["string", "null"]}}}
            ),
        },
        "type",
    ),
    "an empty object": (
        OLD,
        {"contents": [USER], "tools": declared(parameters={"type": "OBJECT", "properties": {}})},
        "non-empty for OBJECT",
    ),
    "both kinds of schema": (
        OLD,
        {
            "contents": [USER],
            "tools": declared(
                parameters={"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
                parametersJsonSchema={"type": "object"},
            ),
        },
        "mutually exclusive",
    ),
    "names without ANY": (
        OLD,
        {
            "contents": [USER],
            "tools": TOOLS,
            "toolConfig": {
                "functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["f"]}
            },
        },
        "only be set when",
    ),
    "level and budget": (
        NEW,
        {
            "contents": [USER],
            "generationConfig": {"thinkingConfig": {"thinkingBudget": 9, "thinkingLevel": "LOW"}},
        },
        "only one",
    ),
    "a level at an old model": (
        OLD,
        {"contents": [USER], "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}},
        "level is not supported",
    ),
    "a schema of text": (
        OLD,
        {"contents": [USER], "generationConfig": {"responseJsonSchema": {"type": "object"}}},
        "response_mime_type",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_simulator_refuses(wire: GeminiChat, vendor: SimulatedVendor, wrong: str) -> None:
    speak(vendor, wire, Answer())
    model, body, says = WRONG[wrong]
    prefix = "publishers/google/" if isinstance(wire, VertexChat) else ""
    path = f"{prefix}models/{model}:generateContent"
    with client_for(wire, vendor, "sk-test") as client, pytest.raises(errors.APIError, match=says):
        # as it stands: the SDK's own methods would put some of it right
        client._api_client.request("post", path, body)
