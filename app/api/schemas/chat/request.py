"""A JSON request body to a ChatRequest.

The fields are checked first, then what is inside of messages and tools. Names: `checks` reads
values at a path, `shapes` describes them.
"""

from collections.abc import Mapping
from typing import Any, cast

from marshmallow import ValidationError, fields

from app.api.schemas.body_schema import BodySchema
from app.api.schemas.chat import shapes
from app.api.schemas.chat.fields import (
    LaterField,
    MetadataField,
    ShortTextField,
    WordField,
    WordsField,
)
from app.api.schemas.chat.formats import read_response_format, without_null_members
from app.api.schemas.chat.messages import read_messages
from app.api.schemas.chat.options import check_options
from app.api.schemas.chat.tools import (
    read_function_call,
    read_functions,
    read_tool_choice,
    read_tools,
)
from app.api.schemas.completion_fields import (
    LogitBiasField,
    ModelField,
    StopField,
    StreamOptionsField,
)
from app.api.schemas.fields import (
    MISSING,
    VALUE,
    BooleanField,
    IntegerField,
    NumberField,
    Problem,
    StringField,
    wrong_value,
)
from app.api.schemas.problems import first_problem
from app.formats import strict_json
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import UnsupportedParameter, together
from app.vocabulary.errors.several import Faults

#: Parameters of other endpoints that callers send here by mistake -> the next step.
ELSEWHERE: Mapping[str, str] = {
    "prompt": "send it to `/v5/completions`, or as `messages`",
    "input": "send the text as `messages`",
}

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_TEXT_LIMIT, _TIER_LIMIT, _MAX_TOKENS = 512, 64, 2**31 - 1
_OPTIONS = shapes.options()


class ChatMessagesField(LaterField):
    """The messages; at least one."""

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if value == []:
            raise wrong_value("must not be an empty array")
        return value


def _required(field: fields.Field[Any]) -> fields.Field[Any]:
    absent = Problem(MISSING, "is required")
    field.required, field.allow_none = True, False
    field.error_messages |= {"required": absent, "null": absent}
    return field


def _later(name: str) -> LaterField:
    """Return the field of an option that is an object."""
    return LaterField(lambda: dict(_OPTIONS[name]))


class ChatCompletionRequestSchema(BodySchema):
    """The body of `POST /v5/chat/completions`: the fields that the contract names."""

    needed = ("model", "messages")

    model = _required(ModelField())
    messages = _required(ChatMessagesField(shapes.messages))
    audio = _later("audio")
    frequency_penalty = NumberField(-2, 2)
    function_call = LaterField(shapes.function_call)
    functions = LaterField(shapes.functions)
    logit_bias = LogitBiasField()
    logprobs = BooleanField()
    max_completion_tokens = IntegerField(1, _MAX_TOKENS)
    max_tokens = IntegerField(1, _MAX_TOKENS)
    metadata = MetadataField()
    modalities = WordsField("text", "audio", "image")
    moderation = _later("moderation")
    n = IntegerField(1, 128)
    parallel_tool_calls = BooleanField()
    prediction = _later("prediction")
    presence_penalty = NumberField(-2, 2)
    prompt_cache_key = ShortTextField(_TEXT_LIMIT)
    prompt_cache_options = _later("prompt_cache_options")
    prompt_cache_retention = WordField("in_memory", "in-memory", "24h")
    reasoning_effort = WordField(*EFFORTS)
    response_format = LaterField(shapes.response_format)
    safety_identifier = ShortTextField(128)
    seed = IntegerField(-(2**63), 2**63 - 1)
    service_tier = ShortTextField(_TIER_LIMIT)
    stop = StopField()
    store = BooleanField()
    stream = BooleanField()
    stream_options = StreamOptionsField()
    temperature = NumberField(0, 2)
    tool_choice = LaterField(shapes.tool_choice)
    tools = LaterField(shapes.tools)
    top_logprobs = IntegerField(0, 20)
    top_p = NumberField(0, 1)
    user = StringField()
    verbosity = WordField("low", "medium", "high")
    web_search_options = _later("web_search_options")

    def check_together(self, values: Mapping[str, Any]) -> None:
        limit, other = values.get("max_completion_tokens"), values.get("max_tokens")
        if limit is not None and other is not None and limit != other:
            raise _together("max_completion_tokens", "must equal `max_tokens`, or one must go")
        if values.get("top_logprobs") is not None and not values.get("logprobs"):
            raise _together("top_logprobs", "is only allowed when `logprobs` is true")
        if values.get("stream_options") is not None and not values.get("stream"):
            raise _together("stream_options", "is only allowed when `stream` is true")


def _together(name: str, sentence: str) -> ValidationError:
    return ValidationError([Problem(VALUE, sentence)], name)


_SCHEMA = ChatCompletionRequestSchema()
_KNOWN = frozenset(_SCHEMA.fields)
#: Fields of a ChatRequest of their own, which are no options.
_APART = frozenset({"model", "messages", "stream", "stream_options"})
#: What goes together with tools, and with functions, if there are none.
_OF_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
_OF_FUNCTIONS = ("functions", "function_call")
#: The fields beside the messages that hold others, or go with such a field.
_NESTED = frozenset({*_OF_TOOLS, *_OF_FUNCTIONS, *_OPTIONS, "response_format"})


def load_chat_request(body: Mapping[str, Any]) -> ChatRequest:
    """Return the request in a JSON object.

    Raises: InvalidRequest for all invalid fields, the first of them named in `param`.
    """
    extra = {n: v for n, v in body.items() if n not in _KNOWN and v is not None}
    if misplaced := [_misplaced(name) for name in ELSEWHERE if name in extra]:
        raise together(misplaced)
    try:
        values = _SCHEMA.checked(body)
    except ValidationError as exc:
        faults, valid = Faults(first_problem(exc)), cast(dict[str, Any], exc.valid_data)
        _read({n: v for n, v in valid.items() if v is not None}, faults)
        raise together(faults.found) from exc
    return _converted(values, extra)


def _misplaced(name: str) -> UnsupportedParameter:
    return UnsupportedParameter(
        f"`{name}` is not a parameter of chat completions: {ELSEWHERE[name]}.", param=name
    )


def _converted(values: dict[str, Any], extra: Mapping[str, Any]) -> ChatRequest:
    """Return the request of checked fields, after what is inside of them is checked."""
    read: dict[str, Any]
    if _NESTED.isdisjoint(values):  # as in most requests
        read = {"messages": read_messages(values["messages"])}
    else:
        faults = Faults()
        read = _read(values, faults)
        faults.raise_any()
    limit = values.pop("max_completion_tokens", None)
    if limit is not None:
        values["max_tokens"] = limit
    return ChatRequest(
        model=values["model"],
        **read,
        definitions=_definitions(values),
        stop=values.get("stop"),
        max_tokens=values.get("max_tokens"),
        n=values.get("n"),
        seed=values.get("seed"),
        user=values.get("user"),
        stream=values.get("stream", False),
        stream_options=values.get("stream_options"),
        options={name: value for name, value in values.items() if name not in _APART},
        extra=extra,
    )


def _read(values: dict[str, Any], faults: Faults) -> dict[str, Any]:
    """Return the fields of a ChatRequest that hold others; collect the faults inside of them."""
    tools = faults.of(lambda: _read_tools(values))
    faults.of(lambda: _read_functions(values))
    faults.of(lambda: check_options(values))
    read: dict[str, Any] = {"tools": tools}
    if "messages" in values:
        read["messages"] = faults.of(lambda: read_messages(values["messages"]))
    if tools is not None and "tool_choice" in values:
        read["tool_choice"] = faults.of(lambda: read_tool_choice(values["tool_choice"], tools))
    if "response_format" in values:
        values["response_format"] = without_null_members(values["response_format"])
        read["response_format"] = faults.of(lambda: read_response_format(values["response_format"]))
    return read


def _definitions(values: Mapping[str, Any]) -> str:
    """Return what the model reads beside the messages, as JSON: its tools, and a schema."""
    read = [values[name] for name in ("tools", "functions", "response_format") if name in values]
    return strict_json.dump(read).decode() if read else ""


def _read_tools(values: dict[str, Any]) -> Any:
    """Return the tools. Without any, what goes with them goes, too: `[]` is none."""
    tools = read_tools(values["tools"]) if "tools" in values else ()
    if tools:
        values["tools"] = [tool.source for tool in tools]
        return tools
    if values.get("tool_choice") is not None:
        read_tool_choice(values["tool_choice"], tools)
    for name in _OF_TOOLS:
        values.pop(name, None)
    return tools


def _read_functions(values: dict[str, Any]) -> None:
    if "functions" in values:
        read_functions(values["functions"])
    if "function_call" in values:
        read_function_call(values["function_call"], values.get("functions"))
    if not values.get("functions"):
        for name in _OF_FUNCTIONS:
            values.pop(name, None)
