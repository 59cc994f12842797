"""OpenAI's chat format, used for text completions: the prompt becomes a user's message.

Source: OpenAI's CreateChatCompletionRequest and its responses; docs/vendors.md.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.gateways.base import single_prompt
from app.gateways.decoding.reader import ResponseReader
from app.gateways.openai import errors
from app.gateways.openai.completions import LEAST_LOGPROBS, STREAM_OPTIONS, posted
from app.gateways.openai.response import OpenAIChatDecoder
from app.gateways.parameters import supported
from app.vendors.model_rules import MODELS, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest


class OpenAIChatGateway:
    """Text completions through chat: one prompt per call; the reply's text is the completion."""

    unsupported: ClassVar[frozenset[str]] = frozenset({"best_of", "suffix"})
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 128
    quirks: ClassVar[Mapping[str, Field[Any]]] = {
        **errors.QUIRKS,
        "models": MODELS,
        "least_logprobs": LEAST_LOGPROBS,
        "stream_options": STREAM_OPTIONS,
    }

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        rules = rules_of(vendor, request.model_name)
        parameters, dropped = supported(vendor, request, self.unsupported | rules.unsupported)
        body = {
            "model": request.model_name,
            "messages": [{"role": "user", "content": single_prompt(request)}],
            **rules.body(_chat_logprobs(vendor, parameters)),
            **request.extra,
        }
        return posted(vendor, request, "/chat/completions", body, dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(OpenAIChatDecoder(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error of a response without success; `param` is the caller's name for it."""
        error = errors.decode_error(vendor, status, headers, body)
        error.param = public_name(vendor, error.param)
        return error


def _chat_logprobs(vendor: Vendor, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with `logprobs` as in chat: a flag, and the number of alternatives."""
    chat = dict(parameters)
    alternatives = chat.pop("logprobs", None)
    if alternatives is not None:
        chat["logprobs"] = True
        # 0 requests only the sampled token.
        if wanted := max(alternatives, vendor.quirks.get("least_logprobs", 0)):
            chat["top_logprobs"] = wanted
    return chat


def public_name(vendor: Vendor, param: str | None) -> str | None:
    """Return the caller's name for the `param` of a vendor's error, e.g. `messages[0]`."""
    if param is None:
        return None
    names = {"messages": "prompt", "top_logprobs": "logprobs"}
    for rules in vendor.quirks.get("models", {}).values():
        names |= {theirs: ours for ours, theirs in rules.get("renames", {}).items()}
    return names.get(re.split(r"[.\[]", param, maxsplit=1)[0], param)
