"""Azure OpenAI: OpenAI's two formats, with the deployment in the path and a dated version.

The model's name is the name of the customer's deployment.
Source: Azure OpenAI's data-plane reference; docs/vendors.md.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

from marshmallow.fields import Field, String

from app.gateways.openai.chat import OpenAIChatGateway
from app.gateways.openai.completions import OpenAIGateway
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import ModelNotFound
from app.vocabulary.request import GenerationRequest
from app.vocabulary.vendor_request import VendorRequest

API_VERSION: Mapping[str, Field[Any]] = {"api_version": String(required=True)}


class AzureGateway(OpenAIGateway):
    """Text completions of a deployment."""

    quirks: ClassVar[Mapping[str, Field[Any]]] = {**OpenAIGateway.quirks, **API_VERSION}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        return _deployed(vendor, request, "completions", super().encode(vendor, request))


class AzureChatGateway(OpenAIChatGateway):
    """Chat of a deployment."""

    quirks: ClassVar[Mapping[str, Field[Any]]] = {**OpenAIChatGateway.quirks, **API_VERSION}

    def encode(self, vendor: Vendor, request: ChatRequest) -> VendorRequest:
        return _deployed(vendor, request, "chat/completions", super().encode(vendor, request))


def _deployed(
    vendor: Vendor, request: GenerationRequest, operation: str, encoded: VendorRequest
) -> VendorRequest:
    """Return OpenAI's request with the deployment's URL.

    Raises: ModelNotFound for a name that would change the path.
    """
    if request.model_name in (".", ".."):
        raise ModelNotFound(f"`{request.model}` is not the name of a deployment.", param="model")
    deployment = quote(request.model_name, safe="")
    version = urlencode({"api-version": vendor.quirks["api_version"]})
    url = f"{vendor.base_url}/openai/deployments/{deployment}/{operation}?{version}"
    return replace(encoded, url=url)
