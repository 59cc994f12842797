"""Chat with Claude through Anthropic's Messages: one sample per call."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import fields

from app.formats import strict_json
from app.gateways.anthropic.errors import failure
from app.gateways.anthropic.quirks import QUIRKS, rejects_sampling
from app.gateways.anthropic.request import SUPPORTED, body_of
from app.gateways.anthropic.response import AnthropicDecoder
from app.gateways.base import ChatGateway
from app.gateways.conversation.claude import SAMPLING
from app.gateways.conversation.omissions import Omissions, narrowed
from app.gateways.conversation.origins import issuer_of, own_signatures
from app.gateways.decoding import failures
from app.gateways.parameters import check_extra, supported
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest


class AnthropicGateway(ChatGateway):
    """Converts chat requests and responses; `quirks` of the entry hold the models' rules."""

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {
            "audio",
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "metadata",
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
    quirks: ClassVar[Mapping[str, fields.Field[Any]]] = QUIRKS

    def encode(self, vendor: Vendor, request: ChatRequest) -> VendorRequest:
        check_extra(vendor, request)
        fixed = SAMPLING if rejects_sampling(vendor, request.model_name) else ()
        unknown = request.options.keys() - SUPPORTED
        parameters, dropped = supported(vendor, request, self.unsupported.union(fixed, unknown))
        omissions = Omissions(vendor)
        request, foreign = own_signatures(issuer_of(vendor), request)
        body = body_of(vendor, narrowed(request, parameters), omissions)
        headers = {
            "content-type": "application/json",
            "anthropic-version": vendor.quirks["version"],
            **vendor.headers,
        }
        return VendorRequest(
            f"{vendor.base_url}/messages",
            headers,
            strict_json.dump(body),
            (*dropped, *foreign, *omissions.names),
        )

    def decoder(self, vendor: Vendor, request: ChatRequest) -> AnthropicDecoder:
        return AnthropicDecoder(vendor, request)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return failure(vendor, status, failures.detail_in(body), headers)
