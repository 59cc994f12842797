"""Which parameters a vendor gets: its refusals, held against what the caller set."""

from collections.abc import Mapping
from typing import Any

from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter

#: Values that change nothing, so that leaving them out is no loss to the caller.
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "echo": (False,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "n": (1,),
    "presence_penalty": (0,),
    "suffix": ("",),
    "temperature": (1,),
    "top_p": (1,),
}


def supported(
    vendor: Vendor, request: CompletionRequest, wire_refuses: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the parameters to send, and the names of those dropped against the caller's wish.

    Raises: UnsupportedParameter for one that the vendor or its wire refuses, unless its value
    changes nothing or the vendor's entry says `drop_unsupported`; for more stops than it takes, of
    which none can be chosen.
    """
    parameters = request.parameters()
    dropped = []
    for name in sorted((vendor.unsupported | wire_refuses) & parameters.keys()):
        value = parameters.pop(name)
        if _is_neutral(name, value, request):
            continue
        if not vendor.drop_unsupported:
            raise UnsupportedParameter(
                f"The vendor `{vendor.name}` does not support `{name}`.", param=name
            )
        dropped.append(name)
    stops = parameters.get("stop", "")
    if not isinstance(stops, str) and len(stops) > vendor.max_stops:
        raise UnsupportedParameter(
            f"The vendor `{vendor.name}` takes at most {vendor.max_stops} sequences as `stop`.",
            param="stop",
        )
    return parameters, tuple(dropped)


def _is_neutral(name: str, value: Any, request: CompletionRequest) -> bool:
    if name == "best_of" and value == (request.n or 1):
        return True  # the best n of n are all of them
    if name == "user":
        return True  # it changes no answer, and our own event keeps it
    return value in NEUTRAL.get(name, ())


def check_prompt(vendor: Vendor, request: CompletionRequest) -> None:
    """Refuse token ids where the vendor takes text alone; they are never turned into text.

    Raises: UnsupportedParameter.
    """
    prompt = request.prompt
    is_text = isinstance(prompt, str) or isinstance(prompt[0], str)
    if not is_text and not vendor.token_prompts:
        raise UnsupportedParameter(
            f"The vendor `{vendor.name}` takes text as `prompt`, no token ids.", param="prompt"
        )


def check_extra(vendor: Vendor, request: CompletionRequest) -> None:
    """Refuse fields beyond the contract, for wires that are not OpenAI's.

    Raises: UnsupportedParameter.
    """
    for name in request.extra:
        raise UnsupportedParameter(
            f"`{name[:64]}` is not a parameter that the vendor `{vendor.name}` takes.",
            param=name[:64],
        )


def check_range(
    vendor: Vendor, request: CompletionRequest, name: str, low: float, high: float = float("inf")
) -> None:
    """Refuse a value that the public contract allows and the vendor does not; it is never bent.

    Raises: InvalidRequest.
    """
    value = getattr(request, name)
    if value is not None and not low <= value <= high:
        bound = f"between {low} and {high}" if high < float("inf") else f"at least {low}"
        raise InvalidRequest(f"The vendor `{vendor.name}` takes a `{name}` of {bound}.", param=name)
