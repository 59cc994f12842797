"""Checks a caller's parameters against those that the vendor supports."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from app.gateways.conversation.omissions import CACHE_HINTS
from app.gateways.conversation.tools import is_one_tool
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import LISTED_LIMIT, InvalidRequest, UnsupportedParameter, together
from app.vocabulary.field_names import FIELD_NAMES
from app.vocabulary.request import GenerationRequest
from app.vocabulary.suggestion import did_you_mean

#: Values that change nothing, so that they can be left out.
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "echo": (False,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "logprobs": (False,),
    "metadata": ({},),
    "modalities": (["text"],),
    "n": (1,),
    "parallel_tool_calls": (True,),
    "presence_penalty": (0,),
    "reasoning_effort": ("none",),
    "response_format": ({"type": "text"},),
    "service_tier": ("auto", "default"),
    "store": (False,),
    "suffix": ("",),
    "temperature": (1,),
    "top_logprobs": (0,),
    "top_p": (1,),
}

#: Parameters of other APIs, for which the vendor's own is reached by another name.
OTHER_NAMES: Mapping[str, str] = {
    "extra_body": " Send its fields as parameters.",
    "format": " Did you mean `response_format`?",
    "max_output_tokens": " Did you mean `max_tokens`?",
    "num_predict": " Did you mean `max_tokens`?",
    "stop_sequences": " Did you mean `stop`?",
    "stopSequences": " Did you mean `stop`?",
    "system": " Send it as a message of the role `system`.",
    "thinking": " Did you mean `reasoning_effort`?",
}

#: What to do instead.
HINTS: Mapping[str, str] = {
    "function_call": " Use `tool_choice` instead.",
    "functions": " Use `tools` instead.",
}


def supported(
    vendor: Vendor, request: GenerationRequest, unsupported: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parameters to send, and the names of those dropped although they matter.

    `unsupported` are those of the API format; the vendor entry may add others.
    Raises: UnsupportedParameter for unsupported ones, unless their values change nothing or the
    vendor entry sets `drop_unsupported`, or they only steer a cache; for more stop sequences than
    the vendor accepts.
    """
    parameters = request.parameters()
    dropped, faults = [], []
    for name in sorted((vendor.unsupported | unsupported) & parameters.keys()):
        value = parameters.pop(name)
        if _is_neutral(name, value, request):
            continue
        if not (vendor.drop_unsupported or name in CACHE_HINTS):
            words = f"The vendor `{vendor.name}` does not support `{name}`.{HINTS.get(name, '')}"
            faults.append(UnsupportedParameter(words, param=name))
        else:
            dropped.append(name)
    faults += _too_many_stops(vendor, parameters.get("stop", ""))
    if faults:
        raise together(faults)
    return parameters, tuple(dropped)


def _too_many_stops(vendor: Vendor, stops: Any) -> list[UnsupportedParameter]:
    """Return the fault of more stop sequences than the vendor accepts, if there is one."""
    if isinstance(stops, str) or len(stops) <= vendor.max_stops:
        return []
    words = (
        f"The vendor `{vendor.name}` accepts at most {vendor.max_stops} sequences as `stop`, "
        f"not {len(stops)}."
    )
    return [UnsupportedParameter(words, param="stop")]


def _is_neutral(name: str, value: Any, request: GenerationRequest) -> bool:
    if name == "best_of" and value == (request.n or 1):
        return True  # the best n of n are all of them
    if name == "logprobs" and value is not False:
        return False  # 0 is False, and asks for the sampled tokens'
    if name == "parallel_tool_calls" and isinstance(request, ChatRequest) and is_one_tool(request):
        return True
    if name == "user":
        return True  # it does not change the completion, and our usage event records it
    return value in NEUTRAL.get(name, ())


def check_prompt(vendor: Vendor, request: CompletionRequest) -> None:
    """Reject token ids if the vendor accepts only text; they are never converted.

    Raises: UnsupportedParameter.
    """
    prompt = request.prompt
    is_text = isinstance(prompt, str) or isinstance(prompt[0], str)
    if not is_text and not vendor.token_prompts:
        raise UnsupportedParameter(
            f"The vendor `{vendor.name}` accepts only text as `prompt`, not token ids.",
            param="prompt",
        )


def check_extra(vendor: Vendor, request: GenerationRequest) -> None:
    """Reject fields that the contract does not name, for formats other than OpenAI's.

    Raises: UnsupportedParameter.
    """
    known = {name for names in FIELD_NAMES.values() for name in names}  # it may be bridged
    faults = [
        UnsupportedParameter(
            f"The vendor `{vendor.name}` does not support the parameter `{name[:64]}`."
            + (OTHER_NAMES.get(name) or did_you_mean(name, known)),
            param=name[:64],
        )
        for name in islice(request.extra, LISTED_LIMIT)
    ]
    if faults:
        raise together(faults)


def check_range(
    vendor: Vendor, request: GenerationRequest, name: str, low: float, high: float = float("inf")
) -> None:
    """Reject a value that the contract allows and the vendor does not; it is never changed.

    Raises: InvalidRequest.
    """
    value = request.parameters().get(name)
    if value is not None and not low <= value <= high:
        bound = f"from {low} to {high}" if high < float("inf") else f"of at least {low}"
        raise InvalidRequest(
            f"The vendor `{vendor.name}` accepts a `{name}` {bound}, not {value}.", param=name
        )
