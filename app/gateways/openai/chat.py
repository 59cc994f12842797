"""OpenAI's chat format, which most vendors and self-hosted servers use.

Their differences are keys of their entries in the vendor table, not branches here.
Source: OpenAI's CreateChatCompletionRequest and its responses; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.gateways.base import ChatGateway
from app.gateways.conversation.origins import SIGNATURES
from app.gateways.openai import errors
from app.gateways.openai.chat_body import chat_body
from app.gateways.openai.chat_quirks import CHAT
from app.gateways.openai.chat_response import OpenAIChatDecoder
from app.gateways.openai.completions import OpenAIGateway, posted
from app.vendors.model_rules import MODELS
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest


class OpenAIChatGateway(ChatGateway):
    """The request is forwarded as the caller wrote it, and the response as the vendor did."""

    max_n: ClassVar[int] = 128
    quirks: ClassVar[Mapping[str, Field[Any]]] = {
        **OpenAIGateway.quirks,
        "chat": CHAT,
        "models": MODELS,
        "signatures": SIGNATURES,
    }

    def encode(self, vendor: Vendor, request: ChatRequest) -> VendorRequest:
        body, dropped = chat_body(vendor, request)
        return posted(vendor, request, "/chat/completions", body, dropped)

    def decoder(self, vendor: Vendor, request: ChatRequest) -> OpenAIChatDecoder:
        return OpenAIChatDecoder(vendor, request)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error of a response without success; `param` is the caller's name for it."""
        error = errors.decode_error(vendor, status, headers, body)
        error.param = errors.public_name(vendor, error.param)
        return error
