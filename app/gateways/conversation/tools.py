"""The tools of a request, for formats with JSON Schemas of objects."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.formats.json_size import SMALL_BYTES, check_size
from app.gateways.conversation.omissions import unsupported
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import Tool
from app.vocabulary.errors import InvalidJSON, InvalidRequest, UnsupportedParameter

#: What is checked against the limits of a body: texts in it, which are parsed like it.
ARGUMENTS = "The text of all `arguments` of calls in `messages`"


def offered_tools(vendor: Vendor, request: ChatRequest) -> tuple[Tool, ...]:
    """Return the functions that the model may call, in the caller's order.

    Of `allowed_tools`, only those are offered.
    Raises: UnsupportedParameter for a tool that is not a function; InvalidRequest if `tool_choice`
    names one that is not offered.
    """
    for tool in request.tools:
        if tool.type != "function":
            raise unsupported(vendor, f"{tool.path}.type", "use tools of type `function`")
    choice = request.tool_choice
    if choice is None or choice.mode not in ("named", "allowed"):
        return request.tools
    known = {tool.name for tool in request.tools}
    for name in choice.names:
        if name not in known:
            raise InvalidRequest(
                f"`tool_choice` names `{name[:64]}`, which is not among the `tools`.",
                param="tool_choice",
            )
    if choice.mode == "named":
        return request.tools
    return tuple([tool for tool in request.tools if tool.name in choice.names])


def is_one_tool(request: ChatRequest) -> bool:
    """Whether the model may call one tool alone: there is no other, or it is the one named."""
    choice = request.tool_choice
    return len(request.tools) == 1 or (choice is not None and choice.mode == "named")


def called_tools(messages: Sequence[Message]) -> tuple[Tool, ...]:
    """Return a tool without a description for each function that a conversation has called.

    Formats whose vendors demand a list of tools beside calls get these if the request has none.
    """
    names = {call.name: None for message in messages for call in message.tool_calls if call.name}
    return tuple([Tool(type="function", path="messages", source={}, name=name) for name in names])


def check_calls(vendor: Vendor, messages: Sequence[Message]) -> None:
    """Refuse earlier calls that are not of functions, and arguments of too many values.

    Raises: UnsupportedParameter, InvalidRequest.
    """
    for message in messages:
        for position, call in enumerate(message.tool_calls):
            if call.type != "function":
                path = f"{message.path}.tool_calls[{position}].type"
                raise unsupported(vendor, path, "use tools of type `function`")
    arguments = [call.arguments for message in messages for call in message.tool_calls]
    if sum(map(len, arguments)) > SMALL_BYTES:
        try:
            check_size("\n".join(arguments).encode("utf-8", "surrogatepass"), ARGUMENTS)
        except InvalidJSON as exc:
            raise InvalidRequest(exc.message, param="messages") from exc


def unforced(vendor: Vendor, request: ChatRequest, why: str) -> UnsupportedParameter:
    """Return the error for a `tool_choice` that the model does not support, and what to do."""
    return UnsupportedParameter(
        f"The model `{request.model_name[:64]}` of the vendor `{vendor.name}` does not support "
        f"this `tool_choice`; {why}.",
        param="tool_choice",
    )


def object_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments as the schema of an object, as the caller's.

    No schema, an empty one, and one without properties mean the same: no arguments.
    """
    schema: Mapping[str, Any] = tool.parameters or {}
    whole = {**schema} if "type" in schema else {"type": "object", **schema}
    if whole["type"] == "object" and whole.get("properties") is None:
        whole["properties"] = {}
    return whole
