"""A chat request as the body of Converse and ConverseStream.

Tools and instructions stand before the messages, which come last, and nothing in them varies:
caches compare prefixes.
"""

from typing import Any

from app.formats import strict_json
from app.gateways.bedrock.common import request_metadata
from app.gateways.bedrock.messages import MessageEncoder
from app.gateways.bedrock.parts import PartEncoder
from app.gateways.bedrock.quirks import CLAUDE, LATER_SYSTEM, STRUCTURED
from app.gateways.bedrock.reasoning import Reasoning, reasoning_of
from app.gateways.bedrock.tools import ToolEncoder
from app.gateways.conversation.claude import (
    SAMPLING,
    check_arguments,
    check_thought_first,
    sampling_of,
)
from app.gateways.conversation.omissions import (
    CACHE_HINTS,
    Omissions,
    check_no_images,
    check_old_functions,
)
from app.gateways.conversation.prefill import check_first, check_prefill
from app.gateways.conversation.schemas import strict_schema
from app.gateways.conversation.tools import check_calls
from app.gateways.conversation.turns import Conversation, conversation
from app.gateways.parameters import check_range
from app.gateways.stops import as_list
from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest

#: The caller's parameter -> its name in `inferenceConfig`.
CONFIG = {
    "max_tokens": "maxTokens",
    "stop": "stopSequences",
    "temperature": "temperature",
    "top_p": "topP",
}

#: The contract's options that are converted, or refused with more to say than their name.
SUPPORTED = CACHE_HINTS | {
    *CONFIG,
    "function_call",
    "functions",
    "metadata",
    "n",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "service_tier",
    "tool_choice",
    "tools",
    "user",
    "web_search_options",
}

#: The contract's service tiers -> the vendor's; `auto` is its default.
TIERS = {"default": "default", "flex": "flex", "priority": "priority"}


def body_of(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the body for a request whose options are all supported.

    Raises: InvalidRequest, mostly UnsupportedParameter, with the path of the field.
    """
    traits = rules_of(vendor, request.model_name).traits
    talk = _conversation(vendor, request, traits, omissions)
    reasoning = reasoning_of(vendor, request, talk, omissions)
    if reasoning.is_manual:
        check_thought_first(vendor, talk)
    parts = PartEncoder(vendor, omissions, traits)
    encoder = MessageEncoder(parts, omissions, thinks=reasoning.is_on)
    tools = ToolEncoder(vendor, parts, omissions, traits, is_manual=reasoning.is_manual)
    tool_config = tools.config(request)
    fields: dict[str, Any] = {
        "inferenceConfig": _inference_config(vendor, request, reasoning, traits),
        "additionalModelRequestFields": {
            **reasoning.fields,
            **tools.single_call(request, tool_config),
        },
        "additionalModelResponseFieldPaths": reasoning.counted_at,
        "outputConfig": _output_config(request, reasoning, traits, omissions),
        "requestMetadata": _metadata(vendor, request),
        "serviceTier": _tier(request, omissions),
        "toolConfig": tool_config,
        "system": encoder.system(talk),
        "messages": encoder.messages(talk),
    }
    omissions.leave_out_cache_hints(request)
    return {name: value for name, value in fields.items() if value}


def _conversation(
    vendor: Vendor, request: ChatRequest, traits: frozenset[str], omissions: Omissions
) -> Conversation:
    """Return the messages in turns, once they are checked."""
    check_old_functions(vendor, request)
    check_no_images(vendor, request)
    check_calls(vendor, request.messages)
    if CLAUDE in traits:
        check_arguments(vendor, request.tools)
    keeps_later = LATER_SYSTEM in traits
    talk = conversation(vendor, request.messages, omissions, keeps_later=keeps_later)
    check_prefill(vendor, request.model_name, talk)
    check_first(vendor, talk)
    return talk


def _inference_config(
    vendor: Vendor, request: ChatRequest, reasoning: Reasoning, traits: frozenset[str]
) -> dict[str, Any]:
    options = dict(request.options)
    check_range(vendor, request, "temperature", 0, 1)
    check_range(vendor, request, "max_tokens", 1)
    if CLAUDE in traits:
        sampling = sampling_of(vendor, request, reasoning.fields.get("thinking", {}))
        options = {n: v for n, v in options.items() if n not in SAMPLING} | sampling
    if "stop" in options:
        options["stop"] = as_list(options["stop"])
    return {theirs: options[name] for name, theirs in CONFIG.items() if name in options}


def _output_config(
    request: ChatRequest,
    reasoning: Reasoning,
    traits: frozenset[str],
    omissions: Omissions,
) -> dict[str, Any]:
    """Return `outputConfig`: the effort, and the reply's schema."""
    config: dict[str, Any] = {} if reasoning.effort is None else {"effort": reasoning.effort}
    wanted = request.response_format
    if wanted is None or wanted.type == "text":
        return config
    if wanted.type != "json_schema" or STRUCTURED not in traits:
        omissions.leave_out("response_format", "response_format")
        return config
    narrowed = strict_schema(wanted.schema or {}, omissions)
    schema: dict[str, Any] = {"schema": strict_json.dump(narrowed).decode()}
    schema |= {"name": wanted.name} if wanted.name else {}
    schema |= {"description": wanted.description} if wanted.description else {}
    config["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": schema}}
    return config


def _metadata(vendor: Vendor, request: ChatRequest) -> dict[str, str]:
    """Return the caller's metadata, with the end user among them."""
    options = request.options
    user = options.get("safety_identifier", options.get("user"))
    return request_metadata(vendor, user, options.get("metadata") or {})


def _tier(request: ChatRequest, omissions: Omissions) -> dict[str, str]:
    tier = request.options.get("service_tier", "auto")
    if tier == "auto":
        return {}
    if tier not in TIERS:
        omissions.leave_out("service_tier", "service_tier")
        return {}
    return {"type": TIERS[tier]}
