"""What OpenAI's clients may send reaches its vendors in the types of their own clients."""

import json
import re
from typing import Any

import pytest
from fireworks.types.chat.completion_create_params import CompletionCreateParamsBase as Fireworks
from groq.types.chat.completion_create_params import CompletionCreateParams as Groq
from hypothesis import given, settings
from hypothesis import strategies as st
from mistralai.client.models import ChatCompletionRequestTypedDict as Mistral

from app.api.schemas.chat.request import load_chat_request
from app.vocabulary.errors import InvalidRequest
from tests.gateways.conversation.conversations import CONVERSATIONS
from tests.gateways.openai.chat_vendors import ROWS
from tests.gateways.typed_dicts import problems

TYPES = {"fireworks_ai": Fireworks, "groq": Groq, "mistral": Mistral}

#: Fields that the vendor takes, although its client has none for them, and members that its
#: client's typed dict has by the name of the Python attribute.
BEYOND = {
    "fireworks_ai": (".stream", ".messages[].name", ".reasoning_effort"),
    "groq": (".stream_options", ".reasoning_effort"),
    "mistral": (".response_format.json_schema",),
}

LEAF = {"type": "string", "enum": ["a", "b"]}
NODE = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
SCHEMAS = st.sampled_from(
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": LEAF}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
        NODE,
    ]
)


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": function}


NAMES = st.sampled_from(["f", "A-b_9", "9lives", "-", "a" * 64])
FLAGS = st.sampled_from([True, False, None])
FUNCTIONS = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "description": st.sampled_from(["", "x" * 2000, None]),
        "parameters": SCHEMAS | st.none(),
        "strict": FLAGS,
    },
)
TOOLS: st.SearchStrategy[list[Any]] = st.lists(
    FUNCTIONS.map(_tool),
    min_size=1,
    max_size=2,
    unique_by=lambda tool: tool["function"]["name"],
)
FORMATS = st.sampled_from(["text", "json_object"]).map(lambda kind: {"type": kind}) | st.builds(
    lambda schema, strict: {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": schema, "strict": strict, "description": None},
    },
    SCHEMAS,
    FLAGS,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "frequency_penalty": st.sampled_from([-2, 0, 2]),
        "logprobs": st.booleans(),
        "max_completion_tokens": st.sampled_from([1, 2**31 - 1]),
        "metadata": st.just({"k": "v"}),
        "n": st.just(1),
        "parallel_tool_calls": st.booleans(),
        "reasoning_effort": st.sampled_from(["none", "low", "high"]),
        "response_format": FORMATS,
        "safety_identifier": st.just("u"),
        "seed": st.sampled_from([0, -1, 2**63 - 1]),
        "service_tier": st.sampled_from(["auto", "default", "flex"]),
        "stop": st.sampled_from(["x", ["x", "\n"], None]),
        "store": st.booleans(),
        "stream": st.booleans(),
        "temperature": st.sampled_from([0, 1.0, 2]),
        "tools": TOOLS,
        "top_p": st.sampled_from([0, 1]),
        "user": st.sampled_from(["", "u"]),
        "verbosity": st.just("low"),
    },
)
REFUSED = {"role": "assistant", "content": None, "refusal": "No."}
REFUSALS = st.sampled_from([[], [REFUSED, {"role": "user", "content": "a"}]])


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=100)
@given(messages=CONVERSATIONS, refused=REFUSALS, fields=FIELDS)
def test_a_request_has_the_types_of_the_vendors_client(
    name: str, messages: list[Any], refused: list[Any], fields: dict[str, Any]
) -> None:
    row = ROWS[name]
    supported = {n: value for n, value in fields.items() if n not in row.vendor.unsupported}
    body = {"model": f"{name}/m", "messages": [*messages, *refused], **supported}
    sent, path = None, ""
    try:
        sent = row.gateway.encode(row.vendor, load_chat_request(body)).body
    except InvalidRequest as error:
        path = error.param or ""
    if sent is None:
        assert re.split(r"[.[]", path)[0] in body
        return
    found = problems(json.loads(sent), TYPES[name])
    assert [it for it in found if not it[0].startswith(BEYOND[name])] == []
