"""Mistral's fill-in-the-middle format: a prompt and a suffix in, a chat response out.

Source: Mistral's FIMCompletionRequest; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.gateways.base import single_prompt
from app.gateways.decoding.reader import ResponseReader
from app.gateways.openai import errors
from app.gateways.openai.completions import posted
from app.gateways.openai.response import OpenAIDecoder
from app.gateways.parameters import check_prompt, supported
from app.vendors.model_rules import MODELS, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest


class FIMDecoder(OpenAIDecoder):
    """Decodes chats as completions; streams usually have their text in `delta.content`."""

    text_key: ClassVar[bytes] = b'"content":'


class FIMGateway:
    """Sends a prompt unchanged, with or without a suffix; without one, the model continues it."""

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {
            "best_of",
            "echo",
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "presence_penalty",
            "user",
        }
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, Field[Any]]] = {**errors.QUIRKS, "models": MODELS}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        check_prompt(vendor, request)
        rules = rules_of(vendor, request.model_name)
        parameters, dropped = supported(vendor, request, self.unsupported | rules.unsupported)
        body = {
            "model": request.model_name,
            "prompt": single_prompt(request),
            **rules.body(parameters),
            **request.extra,
        }
        return posted(vendor, request, "/fim/completions", body, dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(FIMDecoder(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error of a response without success; `param` is the caller's name for it."""
        error = errors.decode_error(vendor, status, headers, body)
        error.param = errors.public_name(vendor, error.param)
        return error
