"""Azure OpenAI: OpenAI's two wires, with the deployment in the path and a dated version.

What Azure itself calls a model is the name that a customer gave to a deployment.
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
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import ModelNotFound
from app.vocabulary.vendor_request import VendorRequest

API_VERSION: Mapping[str, Field[Any]] = {"api_version": String(required=True)}


class AzureGateway(OpenAIGateway):
    """Native text completions of a deployment."""

    quirks: ClassVar[Mapping[str, Field[Any]]] = {**OpenAIGateway.quirks, **API_VERSION}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the request that OpenAI would get, for the deployment."""
        return _deployed(vendor, request, "completions", super().encode(vendor, request))


class AzureChatGateway(OpenAIChatGateway):
    """Text completions through a deployment's chat."""

    quirks: ClassVar[Mapping[str, Field[Any]]] = {**OpenAIChatGateway.quirks, **API_VERSION}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the request that OpenAI would get, for the deployment."""
        return _deployed(vendor, request, "chat/completions", super().encode(vendor, request))


def _deployed(
    vendor: Vendor, request: CompletionRequest, operation: str, encoded: VendorRequest
) -> VendorRequest:
    """Return the request with the deployment's URL.

    Raises: ModelNotFound for a name that would lead elsewhere.
    """
    if request.model_name in (".", ".."):
        raise ModelNotFound(f"`{request.model}` is no deployment.", param="model")
    deployment = quote(request.model_name, safe="")
    version = urlencode({"api-version": vendor.quirks["api_version"]})
    url = f"{vendor.base_url}/openai/deployments/{deployment}/{operation}?{version}"
    return replace(encoded, url=url)
