"""How Claude's models think and what they reject, for both of their formats.

Source: platform.claude.com, thinking; what's new in Claude Opus 5.5, Sonnet 5.5 and Haiku 5.5; the
messages of its API's errors.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.gateways.conversation.omissions import unsupported
from app.gateways.conversation.reasoning import thinking_blocks
from app.gateways.conversation.turns import Conversation
from app.gateways.parameters import check_range
from app.vendors.model_rules import ModelRules, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import Tool
from app.vocabulary.errors import InvalidRequest

# Traits of models, as the vendor table names them.
#: It thinks unless a request switches that off.
THINKS = "thinks"
#: It cannot be switched off.
ALWAYS_THINKS = "always_thinks"
#: Switched off, it still writes notes between calls of tools, which are signed and come back.
BETWEEN_TOOLS = "between_tools"

#: It takes a temperature or a top_p, not both.
ONE_OF_SAMPLING = "one_of_sampling"

SAMPLING = ("temperature", "top_p")

#: The least top_p while a model thinks.
LEAST_TOP_P = 0.95

#: A legal name of an argument.
_ARGUMENT = re.compile(r"[a-zA-Z0-9_.-]{1,64}", re.ASCII)

#: Efforts at which no model can be switched off.
HIGHEST = ("xhigh", "max")


def efforts_of(rules: ModelRules) -> Mapping[str, str | int]:
    """Return a model's efforts; without `none`, if it cannot be switched off."""
    if ALWAYS_THINKS not in rules.traits:
        return rules.efforts
    return {word: meaning for word, meaning in rules.efforts.items() if word != "none"}


def thinks_unasked(rules: ModelRules) -> bool:
    """Whether a model thinks if a request does not say anything about it."""
    efforts = efforts_of(rules)
    return THINKS in rules.traits or (bool(efforts) and "none" not in efforts)


def keeps_notes(rules: ModelRules) -> bool:
    """Whether a model takes signed reasoning back even if it is switched off."""
    return BETWEEN_TOOLS in rules.traits


def switched_off(rules: ModelRules) -> dict[str, Any]:
    """Return the field that switches thinking off."""
    return {"thinking": {"type": "between_tools" if keeps_notes(rules) else "disabled"}}


def effort_without_thinking(word: str | None) -> str | None:
    """Return the effort for a request whose thinking is switched off."""
    return "high" if word in HIGHEST else word


def sampling_of(
    vendor: Vendor, request: ChatRequest, thinking: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the temperature and top_p to send; `thinking` is the field that goes with them.

    Raises: InvalidRequest for a value that the model rejects, or rejects beside another parameter.
    """
    check_range(vendor, request, "temperature", 0, 1)
    # 1 is the vendor's default for both, and most models reject a request that sets both.
    sent = {name: value for name in SAMPLING if (value := request.options.get(name, 1)) != 1}
    if thinking.get("type") in ("enabled", "adaptive"):
        if "temperature" in sent:
            raise unsupported(vendor, "temperature", "the model takes 1 alone while it thinks")
        if sent.get("top_p", 1) < LEAST_TOP_P:
            hint = f"the model takes at least {LEAST_TOP_P} while it thinks"
            raise unsupported(vendor, "top_p", hint)
    if len(sent) > 1 and ONE_OF_SAMPLING in rules_of(vendor, request.model_name).traits:
        raise unsupported(vendor, "top_p", "the model takes `temperature` or `top_p`, not both")
    return sent


def check_thought_first(vendor: Vendor, talk: Conversation) -> None:
    """Refuse to let a model with a budget continue a message that does not begin with a thought.

    Raises: UnsupportedParameter.
    """
    last = talk.turns[-1]
    if last.side == "assistant" and not thinking_blocks(last.messages[0]):
        hint = "the model does not continue a message of the assistant while it thinks"
        raise unsupported(vendor, "reasoning_effort", hint)


def check_arguments(vendor: Vendor, tools: Sequence[Tool]) -> None:
    """Refuse names of arguments that the vendor rejects.

    Raises: InvalidRequest.
    """
    for tool in tools:
        properties = (tool.parameters or {}).get("properties")
        for name in properties if isinstance(properties, dict) else ():
            if not _ARGUMENT.fullmatch(name):
                path = f"{tool.path}.function.parameters.properties"
                raise InvalidRequest(
                    f"The vendor `{vendor.name}` rejects {name[:64]!r} in `{path}`: use 1 to 64 "
                    "letters, digits, `_`, `.` and `-`.",
                    param=path,
                )
