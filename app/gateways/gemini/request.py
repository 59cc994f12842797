"""Google's generateContent, the API of both Gemini and Vertex AI.

The two differ only in the base URL of their models and in authentication.
Source: the GenerateContentResponse reference; google-genai's types; docs/vendors.md.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from marshmallow import fields

from app.formats import strict_json
from app.gateways.base import ChatGateway
from app.gateways.conversation.marks import leave_out_marks
from app.gateways.conversation.omissions import (
    CACHE_HINTS,
    Omissions,
    check_old_functions,
    narrowed,
    unsupported,
)
from app.gateways.conversation.origins import SIGNATURES, issuer_of, own_signatures
from app.gateways.conversation.prefill import check_first
from app.gateways.conversation.turns import conversation
from app.gateways.gemini import errors
from app.gateways.gemini.contents import contents, system_instruction
from app.gateways.gemini.media import shared_resolution
from app.gateways.gemini.models import bare_name
from app.gateways.gemini.response import GeminiDecoder
from app.gateways.gemini.speech import modality_fields, supported_modalities
from app.gateways.gemini.thinking import thinking_config
from app.gateways.gemini.tools import response_format, tool_fields
from app.gateways.parameters import check_extra, check_range, supported
from app.gateways.stops import as_list
from app.vendors.model_rules import MODELS, rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: The caller's parameter -> its name in `generationConfig`.
NAMES: Mapping[str, str] = {
    "frequency_penalty": "frequencyPenalty",
    "logprobs": "responseLogprobs",
    "max_tokens": "maxOutputTokens",
    "n": "candidateCount",
    "presence_penalty": "presencePenalty",
    "seed": "seed",
    "temperature": "temperature",
    "top_logprobs": "logprobs",
    "top_p": "topP",
}

#: Parameters that are encoded in another way.
OTHERS = CACHE_HINTS | {
    "function_call",
    "functions",
    "parallel_tool_calls",
    "reasoning_effort",
    "response_format",
    "service_tier",
    "stop",
    "stream",
    "stream_options",
    "tool_choice",
    "tools",
    "web_search_options",
}

#: The caller's tiers -> the vendor's; others are not Google's.
TIERS: Mapping[str, str] = {"flex": "flex", "priority": "priority"}


#: Characters of a label's name, and of its value. Source: Google Cloud, labels.
LABEL_LIMIT = 63


class GeminiGateway(ChatGateway):
    """Chat with Gemini: several samples per call; signatures of thoughts survive loops of tools.

    The vendor entry's quirks, beside `models`: `file_uris`, the beginnings of URLs of files that
    the vendor has itself; `labels`, whether it takes `metadata` as labels; `signatures`, the name
    of those whose signatures it accepts.
    """

    unsupported: ClassVar[frozenset[str]] = frozenset({"logit_bias", "user"})
    max_n: ClassVar[int] = 8
    quirks: ClassVar[Mapping[str, fields.Field[Any]]] = {
        "models": MODELS,
        "file_uris": fields.List(fields.String()),
        "labels": fields.Boolean(),
        "signatures": SIGNATURES,
    }

    def encode(self, vendor: Vendor, request: ChatRequest) -> VendorRequest:
        check_extra(vendor, request)
        check_range(vendor, request, "max_tokens", 1)  # the vendor takes 0 for "not set"
        check_range(vendor, request, "seed", -(2**31), 2**31 - 1)
        parameters, dropped = supported(vendor, request, self._unsupported(vendor, request))
        omissions = Omissions(vendor)
        request, foreign = own_signatures(issuer_of(vendor), request)
        body = _body(vendor, narrowed(request, parameters), omissions)
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream" if request.stream else "application/json",
            **vendor.headers,
        }
        names = (*dropped, *foreign, *omissions.names)
        return VendorRequest(_url(vendor, request), headers, strict_json.dump(body), names)

    def decoder(self, vendor: Vendor, request: ChatRequest) -> GeminiDecoder:
        return GeminiDecoder(vendor, request)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        try:
            error = strict_json.load_vendor(body)
        except ValueError:  # HTML from a proxy, or an empty body
            error = None
        return errors.failure(vendor, status, error, headers)

    def _unsupported(self, vendor: Vendor, request: ChatRequest) -> frozenset[str]:
        """Return the parameters without an equivalent: all but those that are encoded here."""
        known = NAMES.keys() | OTHERS | supported_modalities(vendor, request)
        if vendor.quirks.get("labels"):
            known = known | {"metadata"}
        if request.service_tier is not None and request.service_tier not in TIERS:
            known = known - {"service_tier"}
        rules = rules_of(vendor, bare_name(request.model_name))
        return self.unsupported | rules.unsupported | (request.options.keys() - known)


def _body(vendor: Vendor, request: ChatRequest, omissions: Omissions) -> dict[str, Any]:
    """Return the body; what stays from turn to turn stands before the contents."""
    check_old_functions(vendor, request)
    leave_out_marks(request, omissions)
    talk = conversation(vendor, request.messages, omissions)
    check_first(vendor, talk, is_call=True)
    config = {
        **_sampling(request),
        **thinking_config(vendor, request, omissions),
        **response_format(vendor, request, omissions),
        **modality_fields(vendor, request),
        **shared_resolution(vendor, request.model_name, request.messages),
    }
    tier, labels = request.options.get("service_tier"), _labels(vendor, request)
    return {
        **system_instruction(talk),
        **tool_fields(vendor, request, omissions),
        **({"generationConfig": config} if config else {}),
        **({"serviceTier": TIERS[tier]} if tier else {}),
        **({"labels": labels} if labels else {}),
        "contents": contents(vendor, request.model_name, talk),
    }


def _labels(vendor: Vendor, request: ChatRequest) -> dict[str, str]:
    """Return the caller's metadata as labels.

    Raises: UnsupportedParameter for texts that Google rejects in labels.
    """
    labels: dict[str, str] = request.options.get("metadata") or {}
    for name, value in labels.items():
        if not (_is_label(name) and name[:1].isalpha() and (value == "" or _is_label(value))):
            hint = "names and values have at most 63 lower-case letters, digits, `_` and `-`"
            raise unsupported(vendor, "metadata", hint)
    return labels


def _is_label(text: str) -> bool:
    """Whether a text may be a label: letters of every script may, but upper case may not."""
    letters = text.replace("_", "a").replace("-", "a")
    return len(text) <= LABEL_LIMIT and letters.isalnum() and text == text.lower()


def _sampling(request: ChatRequest) -> dict[str, Any]:
    options = request.options
    config = {theirs: options[name] for name, theirs in NAMES.items() if name in options}
    if not config.get("responseLogprobs"):
        config.pop("responseLogprobs", None)
        config.pop("logprobs", None)
    elif not config.get("logprobs"):  # only the sampled tokens', and no alternatives
        config.pop("logprobs", None)
    if stops := as_list(request.stop):
        config["stopSequences"] = stops
    return config


def _url(vendor: Vendor, request: ChatRequest) -> str:
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
