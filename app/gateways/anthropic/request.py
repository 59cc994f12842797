"""A chat request as the body of Anthropic's Messages.

What does not change from turn to turn stands before the messages, which come last, and nothing in
it varies: the vendor's cache compares prefixes.
"""

from typing import Any

from app.gateways.anthropic.messages import MessageEncoder
from app.gateways.anthropic.quirks import LATER_SYSTEM, STRUCTURED, has
from app.gateways.anthropic.thinking import Thinking, thinking_of
from app.gateways.anthropic.tools import tool_fields
from app.gateways.conversation.claude import check_arguments, check_thought_first, sampling_of
from app.gateways.conversation.omissions import (
    CACHE_HINTS,
    Omissions,
    check_no_images,
    check_old_functions,
)
from app.gateways.conversation.prefill import check_prefill
from app.gateways.conversation.schemas import strict_schema
from app.gateways.conversation.tools import check_calls
from app.gateways.conversation.turns import conversation
from app.gateways.stops import as_list
from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest

#: The contract's service tiers -> the vendor's; it has no word for the others.
TIERS = {"auto": "auto", "default": "standard_only"}

#: Characters of the end user's id; a longer one is left out, since the reply is the same.
USER_LIMIT = 256

#: The contract's options that are converted, or refused with more to say than their name.
SUPPORTED = CACHE_HINTS | {
    "function_call",
    "functions",
    "max_tokens",
    "n",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "service_tier",
    "stop",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
    "user",
    "web_search_options",
}


def body_of(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the body for a request whose options are all supported.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    check_old_functions(vendor, request)
    check_no_images(vendor, request)
    check_calls(vendor, request.messages)
    check_arguments(vendor, request.tools)
    keeps_later = has(vendor, LATER_SYSTEM, request.model_name)
    talk = conversation(vendor, request.messages, omissions, keeps_later=keeps_later)
    check_prefill(vendor, request.model_name, talk)
    limit = _limit(vendor, request)
    thinking = thinking_of(vendor, request, limit, talk, omissions)
    if thinking.is_manual:
        check_thought_first(vendor, talk)
    encoder = MessageEncoder(vendor, omissions, thinks=thinking.is_on)
    config = _output_config(vendor, request, thinking, omissions)
    system = encoder.system(talk)
    return {
        "model": request.model_name,
        "max_tokens": limit,
        **sampling_of(vendor, request, thinking.fields.get("thinking", {})),
        **_plain_fields(request, omissions),
        **thinking.fields,
        **({"output_config": config} if config else {}),
        **tool_fields(vendor, request, omissions, is_manual=thinking.is_manual),
        **({"system": system} if system else {}),
        "messages": encoder.messages(talk),
    }


def _limit(vendor: Vendor, request: ChatRequest) -> int:
    if request.max_tokens is not None:
        return request.max_tokens
    sends = rules_of(vendor, request.model_name).sends
    return int(sends.get("max_tokens", vendor.quirks["default_max_tokens"]))


def _plain_fields(request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the fields that are the same in other words."""
    fields: dict[str, Any] = {}
    if stops := [stop for stop in as_list(request.stop) if stop.strip()]:
        fields["stop_sequences"] = stops
    user = request.options.get("safety_identifier", request.options.get("user"))
    if user is not None and len(user) > USER_LIMIT:
        omissions.leave_out_hint("user")
    elif user is not None:
        fields["metadata"] = {"user_id": user}
    if (tier := request.options.get("service_tier")) is not None:
        if tier in TIERS:
            fields["service_tier"] = TIERS[tier]
        else:
            omissions.leave_out("service_tier", "service_tier")
    omissions.leave_out_cache_hints(request)
    if request.stream:
        fields["stream"] = True
    return fields


def _output_config(
    vendor: Vendor, request: ChatRequest, thinking: Thinking, omissions: Omissions
) -> dict[str, Any]:
    """Return `output_config`: the effort, and the schema of the reply.

    A description beside the schema becomes the schema's own if it has none. The vendor has no place
    for the format's name, and always follows it strictly.
    Raises: UnsupportedParameter for a format that the vendor or the model does not have.
    """
    config: dict[str, Any] = {} if thinking.effort is None else {"effort": thinking.effort}
    wanted = request.response_format
    if wanted is None or wanted.type == "text":
        return config
    if wanted.type != "json_schema" or not has(vendor, STRUCTURED, request.model_name):
        omissions.leave_out("response_format", "response_format")
        return config
    schema = strict_schema(wanted.schema or {}, omissions)
    if wanted.description:
        schema.setdefault("description", wanted.description)
    config["format"] = {"type": "json_schema", "schema": schema}
    return config
