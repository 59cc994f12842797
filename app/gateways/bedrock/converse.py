"""Amazon Bedrock's Converse and ConverseStream: chat with any model, in one format.

Source: botocore's model of bedrock-runtime, 2023-09-30; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.gateways.base import ChatGateway
from app.gateways.bedrock import errors
from app.gateways.bedrock.common import BedrockFraming, vendor_request
from app.gateways.bedrock.converse_request import SUPPORTED, body_of
from app.gateways.bedrock.converse_response import ConverseDecoder
from app.gateways.bedrock.quirks import CHAT_QUIRKS
from app.gateways.conversation.omissions import Omissions, narrowed
from app.gateways.conversation.origins import issuer_of, own_signatures
from app.gateways.parameters import check_extra, supported
from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest


class ConverseGateway(ChatGateway):
    """Converts chat requests and responses; `quirks.models` of the entry hold models' rules."""

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {
            "audio",
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "modalities",
            "moderation",
            "prediction",
            "presence_penalty",
            "seed",
            "store",
            "top_logprobs",
            "verbosity",
        }
    )
    quirks: ClassVar[Mapping[str, Field[Any]]] = CHAT_QUIRKS

    def encode(self, vendor: Vendor, request: ChatRequest) -> VendorRequest:
        check_extra(vendor, request)
        rules = rules_of(vendor, request.model_name)
        unknown = request.options.keys() - SUPPORTED
        refused = self.unsupported.union(rules.unsupported, unknown)
        parameters, dropped = supported(vendor, request, refused)
        omissions = Omissions(vendor)
        request, foreign = own_signatures(issuer_of(vendor), request)
        body = body_of(vendor, narrowed(request, parameters), omissions)
        operation = "converse-stream" if request.stream else "converse"
        left_out = (*dropped, *foreign, *omissions.names)
        return vendor_request(vendor, request, operation, body, dropped=left_out)

    def decoder(self, vendor: Vendor, request: ChatRequest) -> ConverseDecoder:
        return ConverseDecoder(vendor, request)

    def framing(self, vendor: Vendor) -> BedrockFraming:
        return BedrockFraming(vendor)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return errors.decode_error(vendor, status, headers, body)
