"""Google's generateContent, the API of both Gemini and Vertex AI.

The two differ only in the base URL of their models and in authentication.
Source: the GenerateContentResponse reference; google-genai's types; docs/vendors.md.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from marshmallow.fields import Field

from app.formats import strict_json
from app.gateways.base import single_prompt
from app.gateways.decoding.reader import ResponseReader
from app.gateways.gemini import errors
from app.gateways.gemini.response import GeminiDecoder
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: The caller's parameter -> its name in `generationConfig`.
NAMES: Mapping[str, str] = {
    "frequency_penalty": "frequencyPenalty",
    "logprobs": "logprobs",
    "max_tokens": "maxOutputTokens",
    "n": "candidateCount",
    "presence_penalty": "presencePenalty",
    "seed": "seed",
    "stop": "stopSequences",
    "temperature": "temperature",
    "top_p": "topP",
}


class GeminiGateway:
    """A prompt becomes one user's turn. Reasoning is counted, and is not part of the text."""

    unsupported: ClassVar[frozenset[str]] = frozenset({"best_of", "logit_bias", "suffix", "user"})
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 8
    quirks: ClassVar[Mapping[str, Field[Any]]] = {}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        check_extra(vendor, request)
        check_prompt(vendor, request)
        check_range(vendor, request, "max_tokens", 1)  # the vendor takes 0 for "not set"
        parameters, dropped = supported(vendor, request, self.unsupported)
        contents = [{"role": "user", "parts": [{"text": single_prompt(request)}]}]
        config = _generation_config(parameters)
        body = {"contents": contents, **({"generationConfig": config} if config else {})}
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream" if request.stream else "application/json",
            **vendor.headers,
        }
        return VendorRequest(_url(vendor, request), headers, strict_json.dump(body), dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(GeminiDecoder(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        try:
            error = strict_json.load_vendor(body)
        except ValueError:  # HTML from a proxy, or an empty body
            error = None
        return errors.failure(vendor, status, error, headers)


def _generation_config(parameters: Mapping[str, Any]) -> dict[str, Any]:
    config = {NAMES[name]: value for name, value in parameters.items()}
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    if "logprobs" in config:
        config["responseLogprobs"] = True
        if not config["logprobs"]:  # only the sampled tokens', and no alternatives
            del config["logprobs"]
    return config


def _url(vendor: Vendor, request: CompletionRequest) -> str:
    """Return the model's URL; its name is one path segment, or Google's own `tunedModels/NAME`."""
    kind, _, tuned = request.model_name.partition("/")
    if kind not in ("models", "tunedModels") or not tuned:
        kind, tuned = "models", request.model_name
    method = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    return f"{_base_url(vendor)}/{kind}/{quote(tuned, safe='')}:{method}"


_VERTEX = re.compile(
    r"https://aiplatform\.googleapis\.com(?=/v\w+/projects/[^/]+/locations/([^/]+))"
)


def _base_url(vendor: Vendor) -> str:
    """Return the base URL with the host of the location that its path names.

    Source: Vertex AI's list of locations; google-genai's `_api_client`.
    """
    found = _VERTEX.match(vendor.base_url)
    if found is None or found[1] == "global":
        return vendor.base_url
    location = found[1]
    multi = location in ("us", "eu")
    host = f"aiplatform.{location}.rep" if multi else f"{location}-aiplatform"
    return f"https://{host}.googleapis.com{vendor.base_url[found.end() :]}"
