"""Fields that a format has no place for: refused by their path, or left out and named."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import UnsupportedParameter

#: Parameters that only steer a cache: formats with none for them leave them out, and say so.
CACHE_HINTS = frozenset({"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"})


class Omissions:
    """What one request leaves out, for `VendorRequest.dropped`."""

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor
        self._names: dict[str, None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields that were left out, each once."""
        return tuple(self._names)

    def leave_out(self, name: str, path: str) -> None:
        """Leave out the field at `path` if the vendor entry sets `drop_unsupported`.

        Raises: UnsupportedParameter if it does not.
        """
        if not self._vendor.drop_unsupported:
            raise unsupported(self._vendor, path)
        self._names[name] = None

    def leave_out_hint(self, name: str) -> None:
        """Leave out a field that does not change the reply, such as a cache mark."""
        self._names[name] = None

    def leave_out_cache_hints(self, request: ChatRequest) -> None:
        """Leave out the parameters that only steer a cache."""
        for name in sorted(CACHE_HINTS & request.options.keys()):
            self.leave_out_hint(name)


def unsupported(vendor: Vendor, path: str, hint: str = "") -> UnsupportedParameter:
    """Return the error for a field without an equivalent; `hint` is what to do instead."""
    why = f": {hint}" if hint else ""
    return UnsupportedParameter(
        f"The vendor `{vendor.name}` does not support `{path}`{why}.", param=path
    )


def narrowed(request: ChatRequest, parameters: Mapping[str, Any]) -> ChatRequest:
    """Return a request with only these of its options, in its typed fields, too."""
    if parameters.keys() == request.options.keys():
        return request
    typed = ("tools", "tool_choice", "response_format", "stop")
    empty: dict[str, Any] = {name: None for name in typed if name not in parameters}
    if "tools" in empty:
        empty["tools"] = ()
    return replace(request, options=parameters, **empty)


#: The deprecated fields of the contract -> those that replace them.
OLD_FIELDS = {"functions": "tools", "function_call": "tool_choice"}


def check_old_functions(vendor: Vendor, request: ChatRequest) -> None:
    """Refuse `functions`, `function_call` and messages of that time; nothing is translated.

    Raises: UnsupportedParameter.
    """
    for old, new in OLD_FIELDS.items():
        if request.options.get(old):
            raise unsupported(vendor, old, f"use `{new}`")
    for message in request.messages:
        if message.role == "function":
            raise unsupported(vendor, f"{message.path}.role", "use a message of the role `tool`")
        if message.source.get("function_call"):
            raise unsupported(vendor, f"{message.path}.function_call", "use `tool_calls`")
        if message.source.get("audio"):
            raise unsupported(vendor, f"{message.path}.audio", "send its transcript as text")


def check_no_images(vendor: Vendor, request: ChatRequest) -> None:
    """Refuse images that an assistant's message brings back, where the model takes none there.

    Raises: UnsupportedParameter.
    """
    for message in request.messages:
        if message.source.get("images"):
            hint = "send the image in a message of the user"
            raise unsupported(vendor, f"{message.path}.images", hint)
