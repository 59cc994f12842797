"""A chat request to the sandbox, with OpenAI's checks.

Source: OpenAI's CreateChatCompletionRequest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from marshmallow import RAISE, Schema, fields, validate

from app.sandbox.chat.messages import check_messages
from app.sandbox.chat.names import check_names, instead_of
from app.sandbox.errors import SandboxError
from app.sandbox.fields import StreamOptionsSchema, Text, boolean, integer, loaded, number
from app.sandbox.knobs import Knobs, parse_model

#: What the choice among the tools demands: no call, a call of named ones, or what the model wants.
Mode = Literal["none", "auto", "required"]
MODES: Mapping[str, Mode] = {"none": "none", "auto": "auto", "required": "required"}


FORMATS = ("text", "json_object", "json_schema")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatEchoRequest:
    """A checked request. `tools` are those that may be called, `all_tools` those offered."""

    knobs: Knobs
    messages: Sequence[Mapping[str, Any]]
    all_tools: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    mode: Mode
    is_parallel: bool
    response_format: Mapping[str, Any]
    n: int
    max_tokens: int | None
    stop: tuple[str, ...]
    logprobs: bool
    top_logprobs: int
    stream: bool
    include_usage: bool


class _ChatRequestSchema(Schema):
    """OpenAI's body. Parameters without a meaning for an echo, such as `seed`, are ignored."""

    class Meta:
        unknown = RAISE

    model = fields.String(required=True)
    messages = fields.List(fields.Dict(), required=True, validate=validate.Length(1))
    audio = fields.Dict(allow_none=True)
    frequency_penalty = number(-2, 2)
    logit_bias = fields.Dict(keys=fields.String(), values=number(-100, 100), allow_none=True)
    logprobs = boolean()
    max_completion_tokens = integer(1, 1_000_000)
    max_tokens = integer(1, 1_000_000)
    metadata = fields.Dict(allow_none=True)
    modalities = fields.List(fields.String(), allow_none=True)
    moderation = fields.Dict(allow_none=True)
    n = integer(1, 128)
    parallel_tool_calls = boolean()
    prediction = fields.Dict(allow_none=True)
    presence_penalty = number(-2, 2)
    prompt_cache_key = fields.String(allow_none=True)
    prompt_cache_options = fields.Dict(allow_none=True)
    prompt_cache_retention = fields.String(allow_none=True)
    reasoning_effort = fields.String(allow_none=True)
    response_format = fields.Dict(allow_none=True)
    safety_identifier = fields.String(allow_none=True)
    seed = integer(-(2**63), 2**63 - 1)
    service_tier = fields.String(allow_none=True)
    stop = Text(allow_none=True, validate=validate.Length(1, 4))
    store = boolean()
    stream = boolean()
    stream_options = fields.Nested(StreamOptionsSchema, allow_none=True)
    temperature = number(0, 2)
    tool_choice = fields.Raw(allow_none=True)
    tools = fields.List(fields.Dict(), validate=validate.Length(1, 128), allow_none=True)
    top_logprobs = integer(0, 20)
    top_p = number(0, 1)
    user = fields.String(allow_none=True)
    verbosity = fields.String(allow_none=True)
    web_search_options = fields.Dict(allow_none=True)


_SCHEMA = _ChatRequestSchema()


def load_chat(body: Any) -> ChatEchoRequest:
    """Return the request in `body`, parsed JSON.

    Raises: SandboxError for the first invalid field.
    """
    given = loaded(_SCHEMA, body)
    _check_combination(given)
    check_names(given)
    check_messages(given["messages"])
    tools = _read_tools(given.get("tools", ()))
    mode, names = _read_choice(given.get("tool_choice", "auto"), tools)
    return ChatEchoRequest(
        knobs=parse_model(given["model"]),
        messages=given["messages"],
        all_tools=given.get("tools", ()),
        tools=[tools[name] for name in names],
        mode=mode,
        is_parallel=given.get("parallel_tool_calls", True),
        response_format=_read_format(given.get("response_format", {"type": "text"})),
        n=given.get("n", 1),
        max_tokens=given.get("max_completion_tokens", given.get("max_tokens")),
        stop=tuple(text for text in given.get("stop", ()) if text),
        logprobs=given.get("logprobs", False),
        top_logprobs=given.get("top_logprobs", 0),
        stream=given.get("stream", False),
        include_usage=bool(given.get("stream_options", {}).get("include_usage")),
    )


def _check_combination(given: Mapping[str, Any]) -> None:
    if "max_tokens" in given and "max_completion_tokens" in given:
        text = "`max_tokens` and `max_completion_tokens` cannot be set together."
        raise SandboxError(text, param="max_tokens")
    if "top_logprobs" in given and not given.get("logprobs"):
        raise SandboxError("`top_logprobs` needs `logprobs`.", param="top_logprobs")
    if "stream_options" in given and not given.get("stream"):
        raise SandboxError("`stream_options` needs `stream`.", param="stream_options")
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in given and not given.get("tools"):
            raise SandboxError(f"`{name}` is only allowed with `tools`.", param=name)


def _read_tools(tools: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the tools by name, each as `{type, name, parameters}`."""
    found: dict[str, Mapping[str, Any]] = {}
    for at, tool in enumerate(tools):
        kind = tool.get("type")
        inner = tool.get(kind) if kind in ("function", "custom") else None
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            text = "must be a tool of the type function or custom, with a name"
            raise _wrong(f"tools[{at}]", text)
        parameters = inner.get("parameters")
        if parameters is not None and not isinstance(parameters, dict):
            raise _wrong(f"tools[{at}].function.parameters", "must be an object")
        found[inner["name"]] = {"type": kind, **inner}
    return found


def _read_choice(choice: Any, tools: Mapping[str, Mapping[str, Any]]) -> tuple[Mode, Sequence[str]]:
    """Return what a choice demands, and the names of the tools that it allows."""
    if isinstance(choice, str):
        if choice not in MODES:
            raise _wrong("tool_choice", f"must be {', '.join(MODES)} or an object")
        return MODES[choice], list(tools)
    kind = choice.get("type") if isinstance(choice, dict) else None
    inner = choice.get(kind) if isinstance(kind, str) else None
    if not isinstance(inner, dict):
        raise _wrong("tool_choice", "must be a word or an object that names a tool")
    mode: Mode = "required"
    names = [str(inner.get("name"))]
    if kind == "allowed_tools":
        names = [_name(it) for it in inner.get("tools") or ()]
        mode = "required" if inner.get("mode") == "required" else "auto"
    if not names or not set(names) <= set(tools):
        text = "`tool_choice` names a tool that is not among `tools`."
        raise SandboxError(text, param="tool_choice")
    return mode, names


def _name(tool: Any) -> str:
    inner = tool.get(tool.get("type")) if isinstance(tool, dict) else None
    return str(inner.get("name")) if isinstance(inner, dict) else ""


def _read_format(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a format of a reply, of one of OpenAI's types."""
    kind, schema = form.get("type"), form.get("json_schema")
    if kind not in FORMATS:
        text = f"must be one of {', '.join(FORMATS)}{instead_of(kind, FORMATS)}"
        raise _wrong("response_format.type", text)
    if kind == "json_schema" and not (isinstance(schema, dict) and schema.get("name")):
        raise _wrong("response_format.json_schema", "must be an object with a name and a schema")
    return form


def _wrong(param: str, text: str) -> SandboxError:
    return SandboxError(f"`{param}` {text}.", param=param)
