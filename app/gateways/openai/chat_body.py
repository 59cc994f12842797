"""The body of a chat request for an OpenAI-compatible vendor.

It is as the caller wrote it, but for the differences in the vendor's entry. What the vendor does
not support is rejected by name, or dropped and named if the entry says so.
"""

from collections.abc import Mapping
from typing import Any

from app.gateways.conversation.origins import issuer_of, own_signatures
from app.gateways.openai.chat_messages import MessageWriter, unmarked
from app.gateways.openai.chat_quirks import FORCED_WITHOUT_REASONING, unsupported_in_chat, ways_of
from app.gateways.openai.dialects import DIALECTS, OPENAI
from app.gateways.parameters import NEUTRAL, check_range, supported
from app.gateways.stops import as_list
from app.vendors.model_rules import ModelRules, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest, ResponseFormat
from app.vocabulary.chat.tools import Tool, ToolChoice
from app.vocabulary.errors import UnsupportedParameter

#: The parameters of a tool that takes no arguments.
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}

#: Parameters that make no sense without tools.
OF_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")


def chat_body(vendor: Vendor, request: ChatRequest) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body of a chat request, and the names of what has been dropped from it.

    Raises: UnsupportedParameter, InvalidRequest.
    """
    request, foreign = own_signatures(issuer_of(vendor), request)
    body, dropped = _Body(vendor, request).write()
    return body, tuple(sorted({*dropped, *foreign})) if foreign else dropped


class _Body:
    """Writes the body of one request."""

    def __init__(self, vendor: Vendor, request: ChatRequest) -> None:
        self._vendor, self._request = vendor, request
        self._ways = ways_of(vendor)
        self._rules: ModelRules = rules_of(vendor, request.model_name)
        self._unsupported = unsupported_in_chat(vendor, self._rules)
        self._fields: dict[str, Any] = {}
        self._dropped: set[str] = set()

    def write(self) -> tuple[dict[str, Any], tuple[str, ...]]:
        request, quirks = self._request, self._vendor.quirks
        self._fields, dropped = supported(self._vendor, request, self._unsupported)
        self._dropped.update(dropped)
        if request.tools and "tools" in self._fields:
            self._put_tools()
        if request.response_format is not None and "response_format" in self._fields:
            self._put_format(request.response_format)
        if "reasoning_effort" in self._fields:
            self._put_effort()
        if FORCED_WITHOUT_REASONING in self._rules.traits:
            self._stop_reasoning_if_forced()
        if "service_tier" in self._fields:
            self._put_tier()
        if quirks.get("stop_list") and "stop" in self._fields:
            self._fields["stop"] = as_list(self._fields["stop"])
        for name, (low, high) in self._ways.get("ranges", {}).items():
            check_range(self._vendor, request, name, low, high)
        if self._ways.get("integer_logprobs"):
            self._put_integer_logprobs()
        messages = MessageWriter(self._vendor, self._unsupported)
        body = {
            "model": request.model_name,
            "messages": messages.write(request),
            **quirks.get("sends", {}),
            **self._rules.body(self._fields),
            **request.extra,
        }
        return body, tuple(sorted(self._dropped | messages.dropped))

    def _put_tools(self) -> None:
        """Write the tools, and the choice among them, if the vendor supports it."""
        choice, kinds = self._request.tool_choice, self._ways.get("tool_choices")
        tools = self._request.tools
        if choice is not None and kinds is not None and choice.mode not in kinds:
            if choice.mode == "none":  # without tools, none can be called
                for name in OF_TOOLS:
                    self._fields.pop(name, None)
                return
            if (word := _word_for(choice)) in kinds:
                self._fields["tool_choice"] = word
                tools = tuple(tool for tool in tools if tool.name in choice.names)
            else:
                self._refuse("tool_choice", f"It supports only: {', '.join(kinds)}.")
        if kinds == ["auto"]:
            self._fields.pop("tool_choice", None)
        self._fields["tools"] = [self._tool(tool) for tool in tools]

    def _tool(self, tool: Tool) -> Mapping[str, Any]:
        """Return a tool; its schema stays byte for byte, except one for no arguments at all."""
        kinds = self._ways.get("tools")
        if kinds is not None and tool.type not in kinds:
            raise self._error(f"{tool.path}.type", f"It supports only: {', '.join(kinds)}.")
        source = unmarked(self._ways, tool.source, self._dropped)
        function = source.get("function")
        if not isinstance(function, dict):
            return source
        kept = {name: value for name, value in function.items() if value is not None}
        if kept.get("strict") and self._ways.get("strict_tools") is False:
            self._dropped.add("strict")
            del kept["strict"]
        if kept.get("parameters", {}) in ({}, {"type": "object"}):
            kept["parameters"] = NO_PARAMETERS
        return source if kept == function else {**source, "function": kept}

    def _put_format(self, asked: ResponseFormat) -> None:
        """Write the response format; one of plain text may be left out."""
        kinds = self._ways.get("formats")
        if kinds is not None and asked.type not in kinds:
            if asked.type == "text":
                del self._fields["response_format"]
            else:
                hint = f" It supports only: {', '.join(kinds)}." if kinds else ""
                self._refuse("response_format", f"Its type is {asked.type[:64]!r}.{hint}")
            return
        is_apart = self._ways.get("format_with_tools") is False
        if is_apart and asked.type != "text" and self._fields.get("tools"):
            self._refuse("response_format", "It cannot be combined with `tools` there.")
            return
        dialect = DIALECTS.get(self._ways.get("dialect", ""), OPENAI)
        source = self._fields["response_format"]
        self._fields["response_format"] = dialect.response_format(asked, source)

    def _put_effort(self) -> None:
        """Write the reasoning effort in the model's word for it."""
        word, efforts = self._fields["reasoning_effort"], self._rules.efforts
        if word == "none" and self._rules.without_reasoning:
            del self._fields["reasoning_effort"]
            self._fields |= self._rules.without_reasoning
        elif efforts and word not in efforts:
            words = ", ".join(efforts)
            self._refuse("reasoning_effort", f"{word!r} is not an effort of the model: {words}.")
        elif efforts:
            self._fields["reasoning_effort"] = efforts[word]

    def _stop_reasoning_if_forced(self) -> None:
        """Turn reasoning off if a call of a tool is forced; refuse both of them together."""
        choice = self._request.tool_choice
        is_forced = choice is not None and (choice.mode == "required" or _names_one(choice))
        if not is_forced or "tool_choice" not in self._fields:
            return
        if self._fields.get("reasoning_effort") is not None:
            if not self._vendor.drop_unsupported:
                why = "It cannot be forced to call a tool while it reasons: "
                raise self._error("tool_choice", f"{why}leave out `reasoning_effort`.")
            del self._fields["reasoning_effort"]
            self._dropped.add("reasoning_effort")
        self._fields |= self._rules.without_reasoning

    def _put_tier(self) -> None:
        """Leave out a tier that changes nothing, if the vendor does not know the word for it."""
        words, tier = self._ways.get("service_tiers"), self._fields["service_tier"]
        if words is None or tier in words:
            return
        if tier in NEUTRAL["service_tier"]:
            del self._fields["service_tier"]
        else:
            self._refuse("service_tier", f"It supports only: {', '.join(words)}.")

    def _put_integer_logprobs(self) -> None:
        """Write the log probabilities as the number of alternatives."""
        wanted, top = self._fields.pop("logprobs", None), self._fields.pop("top_logprobs", 0)
        if wanted:
            self._fields["logprobs"] = max(top, 1)

    def _refuse(self, name: str, hint: str) -> None:
        """Raise the error for a parameter's value; or drop it, if the vendor's entry says so."""
        if not self._vendor.drop_unsupported:
            raise self._error(name, hint)
        del self._fields[name]
        self._dropped.add(name)

    def _error(self, path: str, hint: str = "") -> UnsupportedParameter:
        about = f" {hint}" if hint else ""
        return UnsupportedParameter(
            f"The vendor `{self._vendor.name}` does not support this `{path}`.{about}", param=path
        )


def _names_one(choice: ToolChoice) -> bool:
    return choice.mode == "named" or choice.is_required


def _word_for(choice: ToolChoice) -> str | None:
    """Return what a choice among some tools is if the vendor gets only these; None: no such."""
    if _names_one(choice):
        return "required" if choice.names else None
    return "auto" if choice.names else None
