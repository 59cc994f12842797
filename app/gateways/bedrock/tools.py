"""Tools and their choice as Converse's `toolConfig`."""

from typing import Any

from app.gateways.bedrock.parts import Block, PartEncoder
from app.gateways.bedrock.quirks import (
    CLAUDE,
    FORCED_TOOLS,
    GROUNDING,
    NO_FORCED_TOOLS,
    STRUCTURED,
    WEB_SEARCH,
)
from app.gateways.conversation.marks import mark_of
from app.gateways.conversation.omissions import Omissions, unsupported
from app.gateways.conversation.schemas import strict_schema
from app.gateways.conversation.tools import (
    called_tools,
    is_one_tool,
    object_schema,
    offered_tools,
    unforced,
)
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import Tool


class ToolEncoder:
    """Converts one request's tools. `traits` are the model's; `is_manual`: it has a budget."""

    def __init__(
        self,
        vendor: Vendor,
        parts: PartEncoder,
        omissions: Omissions,
        traits: frozenset[str],
        *,
        is_manual: bool,
    ) -> None:
        self._vendor, self._parts, self._omissions = vendor, parts, omissions
        self._traits, self._is_manual = traits, is_manual

    def config(self, request: ChatRequest) -> dict[str, Any]:
        """Return `toolConfig`; {} without tools.

        The vendor has no word for `none`: the tools are withheld, unless the conversation has
        calls, beside which it demands a list. Without tools in the request, those that the
        conversation has called are listed.
        Raises: InvalidRequest with the path of what cannot be converted.
        """
        tools = offered_tools(self._vendor, request)
        called = called_tools(request.messages)
        choice, search = request.tool_choice, self._search(request)
        if choice is not None and choice.mode == "none" and tools:
            if called:
                why = "it has no `none` beside earlier calls: leave `tools` out, or use 'auto'"
                raise unforced(self._vendor, request, why)
            return {"tools": search} if search else {}
        specs = [block for tool in tools or called for block in self._tool(tool)] + search
        forced = self._forced(request) if tools else None
        config: dict[str, Any] = {"tools": specs} if specs else {}
        return config if forced is None else {**config, "toolChoice": forced}

    def single_call(self, request: ChatRequest, config: dict[str, Any]) -> dict[str, Any]:
        """Return the model's own field with which it makes one call at most; {} if it may more."""
        is_about = any("toolSpec" in block for block in config.get("tools", ()))
        if request.options.get("parallel_tool_calls") is not False or not is_about:
            return {}
        if CLAUDE not in self._traits:
            if not is_one_tool(request):
                self._omissions.leave_out("parallel_tool_calls", "parallel_tool_calls")
            return {}
        kind = {} if "toolChoice" in config else {"type": "auto"}
        return {"tool_choice": {**kind, "disable_parallel_tool_use": True}}

    def _search(self, request: ChatRequest) -> list[Block]:
        """Return the tool that searches the web; the model decides whether it does."""
        options = request.options.get("web_search_options")
        if options is None:
            return []
        if WEB_SEARCH not in self._traits:
            self._omissions.leave_out("web_search_options", "web_search_options")
            return []
        for name, value in options.items():
            if value is not None and (name, value) != ("search_context_size", "medium"):
                path = f"web_search_options.{name[:64]}"
                raise unsupported(self._vendor, path, "leave it out")
        return [{"systemTool": {"name": GROUNDING}}]

    def _tool(self, tool: Tool) -> list[Block]:
        spec: Block = {"name": tool.name}
        if tool.description:
            spec["description"] = tool.description
        spec["inputSchema"] = {"json": object_schema(tool)}
        if tool.strict:
            if STRUCTURED in self._traits:
                spec["strict"] = True
                schema = strict_schema(spec["inputSchema"]["json"], self._omissions)
                spec["inputSchema"] = {"json": schema}
            else:
                self._omissions.leave_out_hint("strict")
        function = tool.source.get("function")
        inner = mark_of(function) if isinstance(function, dict) else None
        return [{"toolSpec": spec}, *self._parts.point(mark_of(tool.source) or inner)]

    def _forced(self, request: ChatRequest) -> dict[str, Any] | None:
        """Return the choice of a call that must be made; None: the vendor's default, auto."""
        choice = request.tool_choice
        if choice is None or choice.mode in ("auto", "none"):
            return None
        if choice.mode == "allowed" and not choice.is_required:
            return None
        if FORCED_TOOLS not in self._traits or NO_FORCED_TOOLS in self._traits:
            raise unforced(self._vendor, request, "it cannot be forced to call a tool: use 'auto'")
        if self._is_manual:
            why = "it cannot be forced to call a tool while it thinks: leave out `reasoning_effort`"
            raise unforced(self._vendor, request, why)
        return {"tool": {"name": choice.names[0]}} if choice.mode == "named" else {"any": {}}
