"""Tools and their choice in Anthropic's words."""

from typing import Any

from app.gateways.anthropic.parts import Block, marked
from app.gateways.anthropic.quirks import NO_FORCED_TOOLS, STRUCTURED, has
from app.gateways.conversation.marks import mark_of
from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.schemas import strict_schema
from app.gateways.conversation.tools import called_tools, object_schema, offered_tools, unforced
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import Tool, ToolChoice


def tool_fields(
    vendor: Vendor, request: ChatRequest, omissions: Omissions, *, is_manual: bool
) -> dict[str, Any]:
    """Return the fields `tools` and `tool_choice`; {} if there are none.

    Without tools in the request, those that the conversation has called are listed, as the vendor
    demands, and none may be called. `is_manual`: the model thinks with a budget.
    Raises: InvalidRequest with the path of what cannot be converted.
    """
    offered = offered_tools(vendor, request)
    tools = [_tool(vendor, request, tool, omissions) for tool in offered]
    choice = _choice(request) if tools else None
    if choice is not None and choice["type"] in ("any", "tool"):
        _check_forced(vendor, request, is_manual=is_manual)
    if not tools and (called := called_tools(request.messages)):
        tools = [_tool(vendor, request, tool, omissions) for tool in called]
        choice = {"type": "none"}
    if search := _web_search(vendor, request, omissions):
        tools.append(search)
        choice = None if choice == {"type": "none"} and not request.tools else choice
    fields = {"tools": tools} if tools else {}
    return fields if choice is None else {**fields, "tool_choice": choice}


def _tool(vendor: Vendor, request: ChatRequest, tool: Tool, omissions: Omissions) -> Block:
    block: Block = {"name": tool.name}
    if tool.description:
        block["description"] = tool.description
    block["input_schema"] = object_schema(tool)
    if tool.strict:
        if has(vendor, STRUCTURED, request.model_name):
            block["strict"] = True
            block["input_schema"] = strict_schema(block["input_schema"], omissions)
        else:
            omissions.leave_out_hint("strict")
    function = tool.source.get("function")
    inner = mark_of(function) if isinstance(function, dict) else None
    return marked(block, mark_of(tool.source) or inner)


def _choice(request: ChatRequest) -> dict[str, Any] | None:
    """Return `tool_choice`; None: the vendor's default, which is auto."""
    choice = request.tool_choice
    found = None if choice is None else _mode(choice)
    if request.options.get("parallel_tool_calls") is False and found != {"type": "none"}:
        return {**(found or {"type": "auto"}), "disable_parallel_tool_use": True}
    return found


def _mode(choice: ToolChoice) -> dict[str, Any]:
    match choice.mode:
        case "none":
            return {"type": "none"}
        case "required":
            return {"type": "any"}
        case "named":
            return {"type": "tool", "name": choice.names[0]}
        case "allowed" if choice.is_required:
            return {"type": "any"}
    return {"type": "auto"}


def _check_forced(vendor: Vendor, request: ChatRequest, *, is_manual: bool) -> None:
    """Refuse to force a call where the vendor does."""
    if is_manual:
        why = "it cannot be forced to call a tool while it thinks: leave out `reasoning_effort`"
    elif has(vendor, NO_FORCED_TOOLS, request.model_name):
        why = "it cannot be forced to call a tool: use 'auto'"
    else:
        return
    raise unforced(vendor, request, why)


def _web_search(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> Block | None:
    """Return the vendor's own tool for `web_search_options`, which it runs itself."""
    options = request.options.get("web_search_options")
    if options is None:
        return None
    if "web_search" not in vendor.quirks:
        omissions.leave_out("web_search_options", "web_search_options")
        return None
    if options.get("search_context_size") not in (None, "medium"):
        omissions.leave_out("search_context_size", "web_search_options.search_context_size")
    tool: Block = {"type": vendor.quirks["web_search"], "name": "web_search"}
    location = options.get("user_location")
    if isinstance(location, dict):
        place = location.get("approximate")
        named = {k: v for k, v in place.items() if v} if isinstance(place, dict) else {}
        tool["user_location"] = {"type": "approximate", **named}
    return tool
