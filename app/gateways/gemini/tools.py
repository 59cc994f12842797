"""Tools and their choice, as Google's `tools` and `toolConfig`.

- A tool without parameters has no schema: Google refuses objects without properties.
- `strict` has no field of its own: in the mode VALIDATED, which is otherwise AUTO, Google holds
  calls to the schemas of all tools, as it does in the mode ANY.
- `parallel_tool_calls: false` cannot be said, and changes nothing with one tool.
- `web_search_options` is Google Search, alone: not beside the caller's tools.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.gateways.conversation.omissions import Omissions, unsupported
from app.gateways.conversation.tools import check_calls, is_one_tool, offered_tools
from app.gateways.gemini.models import FORMAT_WITH_TOOLS, traits_of
from app.gateways.gemini.schema import json_schema
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import Tool, ToolChoice
from app.vocabulary.errors import InvalidRequest

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}", re.ASCII)


def tool_fields(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the fields of a request for its tools; {} without any.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    check_calls(vendor, request.messages)
    offered = offered_tools(vendor, request)
    search = request.options.get("web_search_options")
    if search is not None:
        return _search(vendor, request, search)
    if not offered:
        return {}
    parallel = request.options.get("parallel_tool_calls")
    if parallel is False and len(offered) > 1 and not is_one_tool(request):
        omissions.leave_out("parallel_tool_calls", "parallel_tool_calls")
    declared = [_declaration(vendor, tool) for tool in offered]
    mode = _mode(request.tool_choice, offered)
    config = {"toolConfig": {"functionCallingConfig": mode}} if mode else {}
    return {"tools": [{"functionDeclarations": declared}], **config}


def _search(vendor: Vendor, request: ChatRequest, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tool that searches the web; the model decides whether it does."""
    for name, value in options.items():
        if value is not None and (name, value) != ("search_context_size", "medium"):
            raise unsupported(vendor, f"web_search_options.{name[:64]}", "leave it out")
    if request.tools:
        raise unsupported(vendor, "web_search_options", "it takes it or `tools`")
    return {"tools": [{"googleSearch": {}}]}


def _declaration(vendor: Vendor, tool: Tool) -> dict[str, Any]:
    if not _NAME.fullmatch(tool.name):
        path = f"{tool.path}.function.name"
        raise unsupported(vendor, path, "a name begins with a letter or `_`")
    declared: dict[str, Any] = {"name": tool.name}
    if tool.description:
        declared["description"] = tool.description
    if _has_parameters(tool.parameters):
        path = f"{tool.path}.function.parameters"
        declared["parametersJsonSchema"] = json_schema(tool.parameters or {}, path)
    return declared


def _has_parameters(schema: Mapping[str, Any] | None) -> bool:
    """Whether a schema says more than that there are no arguments.

    Raises: nothing; a schema of something else than an object is left to Google.
    """
    if not schema:
        return False
    says = {name for name, value in schema.items() if value not in ({}, [], None)}
    return bool(says - {"type", "additionalProperties", "$schema", "title", "strict"}) or (
        schema.get("type", "object") != "object" or bool(schema.get("additionalProperties"))
    )


def _mode(choice: ToolChoice | None, offered: Sequence[Tool]) -> dict[str, Any]:
    """Return the `functionCallingConfig`; {} for Google's default, AUTO, that nobody asked for."""
    is_strict = any(tool.strict for tool in offered)
    match choice:
        case ToolChoice(mode="none"):
            return {"mode": "NONE"}
        case ToolChoice(mode="required"):
            return {"mode": "ANY"}
        case ToolChoice(mode="named", names=names):
            return {"mode": "ANY", "allowedFunctionNames": list(names)}
        case ToolChoice(mode="allowed", is_required=True):
            return {"mode": "ANY"}
    if is_strict:
        return {"mode": "VALIDATED"}
    return {} if choice is None else {"mode": "AUTO"}


def response_format(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the fields of `generationConfig` for the answer's format.

    The name has no field; a description becomes the schema's, unless it has its own.
    Raises: UnsupportedParameter for a format that Google does not have, or beside tools if the
    model takes one or the other.
    """
    wanted = request.response_format
    if wanted is None or wanted.type == "text":
        return {}
    if wanted.type not in ("json_object", "json_schema"):
        omissions.leave_out("response_format", "response_format.type")
        return {}
    if request.tools and FORMAT_WITH_TOOLS not in traits_of(vendor, request.model_name):
        hint = f"the model `{request.model_name[:64]}` takes it or `tools`"
        raise unsupported(vendor, "response_format", hint)
    fields: dict[str, Any] = {"responseMimeType": "application/json"}
    if wanted.type == "json_schema":
        path = "response_format.json_schema.schema"
        if wanted.schema is None:
            raise InvalidRequest(f"`{path}` is missing.", param=path)
        schema = json_schema(wanted.schema, path)
        if wanted.description:
            schema.setdefault("description", wanted.description)
        fields["responseJsonSchema"] = schema
    return fields
