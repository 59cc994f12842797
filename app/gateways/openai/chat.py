"""OpenAI's chat-completions wire, asked for a text completion: the prompt is a user's message.

Source: OpenAI's CreateChatCompletionRequest and its responses; docs/vendors.md.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.gateways.base import single_prompt
from app.gateways.decoding import failures
from app.gateways.decoding.reader import AnswerReader
from app.gateways.openai.completions import LEAST_LOGPROBS, posted
from app.gateways.openai.response import OpenAIChatWire
from app.gateways.parameters import supported
from app.vendors.model_rules import MODELS, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest


class OpenAIChatGateway:
    """A text completion through chat: one prompt a call, its answer's text alone."""

    unsupported: ClassVar[frozenset[str]] = frozenset({"best_of", "suffix"})
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 128
    quirks: ClassVar[Mapping[str, Field[Any]]] = {
        "models": MODELS,
        "least_logprobs": LEAST_LOGPROBS,
    }

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, by the vendor's names."""
        rules = rules_of(vendor, request.model_name)
        parameters, dropped = supported(vendor, request, self.unsupported | rules.unsupported)
        body = {
            "model": request.model_name,
            "messages": [{"role": "user", "content": single_prompt(request)}],
            **rules.body(_chat_logprobs(vendor, parameters)),
            **request.extra,
        }
        return posted(vendor, request, "/chat/completions", body, dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> AnswerReader:
        """Return the reader of one answer."""
        return AnswerReader(OpenAIChatWire(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller; `param` by its public name."""
        error = failures.from_response(vendor, status, headers, body)
        error.param = public_name(vendor, error.param)
        return error


def _chat_logprobs(vendor: Vendor, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with `logprobs` as chat has it: a flag, and how many alternatives."""
    chat = dict(parameters)
    alternatives = chat.pop("logprobs", None)
    if alternatives is not None:
        chat["logprobs"] = True
        # 0 asks for the sampled token alone.
        if wanted := max(alternatives, vendor.quirks.get("least_logprobs", 0)):
            chat["top_logprobs"] = wanted
    return chat


def public_name(vendor: Vendor, param: str | None) -> str | None:
    """Return the caller's name for what a vendor's error calls `param`, as in `messages[0]`."""
    if param is None:
        return None
    names = {"messages": "prompt", "top_logprobs": "logprobs"}
    for rules in vendor.quirks.get("models", {}).values():
        names |= {theirs: ours for ours, theirs in rules.get("renames", {}).items()}
    return names.get(re.split(r"[.\[]", param, maxsplit=1)[0], param)
