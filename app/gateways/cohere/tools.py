"""Tools, their choice, and formats of the answer, as Cohere's.

- Cohere knows REQUIRED and NONE. A tool that must be called is the only one that is sent then.
- `strict` is one flag for all tools.
- `parallel_tool_calls: false` cannot be said, and changes nothing with one tool.
- A format and tools exclude each other. The name of a schema has no field; a description becomes
  the schema's, unless it has its own.
"""

from typing import Any

from app.gateways.conversation.omissions import Omissions, unsupported
from app.gateways.conversation.tools import object_schema, offered_tools
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import Tool, ToolChoice
from app.vocabulary.errors import InvalidRequest


def tool_fields(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the fields of a request for its tools; {} without any.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    offered, choice = offered_tools(vendor, request), request.tool_choice
    if choice is not None and choice.mode == "named":
        offered = tuple([tool for tool in offered if tool.name in choice.names])
    if not offered:
        return {}
    if request.options.get("parallel_tool_calls") is False and len(offered) > 1:
        omissions.leave_out("parallel_tool_calls", "parallel_tool_calls")
    strict = [tool for tool in offered if tool.strict]
    if strict and len(strict) < len(offered):
        omissions.leave_out_hint("strict")
    return {
        "tools": [_tool(tool) for tool in offered],
        **({"strict_tools": True} if len(strict) == len(offered) else {}),
        **_choice(choice),
    }


def _tool(tool: Tool) -> dict[str, Any]:
    description = {"description": tool.description} if tool.description else {}
    function = {"name": tool.name, **description, "parameters": object_schema(tool)}
    return {"type": "function", "function": function}


def _choice(choice: ToolChoice | None) -> dict[str, str]:
    match choice:
        case ToolChoice(mode="none"):
            return {"tool_choice": "NONE"}
        case ToolChoice(mode="required" | "named") | ToolChoice(is_required=True):
            return {"tool_choice": "REQUIRED"}
    return {}


def response_format(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the field for the answer's format; {} for text.

    Raises: UnsupportedParameter for a format that Cohere does not have, or beside tools.
    """
    wanted = request.response_format
    if wanted is None or wanted.type == "text":
        return {}
    if wanted.type not in ("json_object", "json_schema"):
        omissions.leave_out("response_format", "response_format.type")
        return {}
    if request.tools:
        raise unsupported(vendor, "response_format", "it takes it or `tools`")
    told: dict[str, Any] = {"type": "json_object"}
    if wanted.type == "json_schema":
        if wanted.schema is None:
            path = "response_format.json_schema.schema"
            raise InvalidRequest(f"`{path}` is missing.", param=path)
        told["json_schema"] = dict(wanted.schema)
        if wanted.description:
            told["json_schema"].setdefault("description", wanted.description)
    return {"response_format": told}
