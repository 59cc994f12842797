"""OpenAI's text-completions wire, which most vendors and self-hosted servers speak.

What one of them does differently is a key of its entry in the vendor table, not a branch here.
Source: OpenAI's CreateCompletionRequest; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import fields, validate

from app.formats import strict_json
from app.gateways.decoding import failures
from app.gateways.decoding.reader import AnswerReader
from app.gateways.openai.response import OpenAIWire
from app.gateways.parameters import check_prompt, supported
from app.gateways.stops import as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: A refusal that comes with a server error's status: some servers have no other.
REFUSED = 400


LEAST_LOGPROBS = fields.Integer(strict=True, validate=validate.Range(min=0))


class OpenAIGateway:
    """Native text completions: the request is forwarded, the answer brought into form."""

    unsupported: ClassVar[frozenset[str]] = frozenset()
    list_prompts: ClassVar[bool] = True
    max_n: ClassVar[int] = 128
    quirks: ClassVar[Mapping[str, fields.Field[Any]]] = {
        # fields that go with every request, unless the caller set them
        "sends": fields.Dict(keys=fields.String()),
        # stop is taken as a list alone
        "stop_list": fields.Boolean(),
        # false: it cannot stream, so that the caller of a stream gets the answer in one piece
        "streams": fields.Boolean(),
        # `logprobs` below it are none to the server: it is asked for so many, and they are cut here
        "least_logprobs": LEAST_LOGPROBS,
        # words of a message that mean a refusal of the request, whatever the status
        "refusals": fields.List(fields.String()),
    }

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, and nothing that it did not."""
        body, dropped = native_body(vendor, request)
        return posted(vendor, request, "/completions", body, dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> AnswerReader:
        """Return the reader of one answer."""
        return AnswerReader(OpenAIWire(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        refused = any(words.encode() in body for words in vendor.quirks.get("refusals", ()))
        return failures.from_response(vendor, REFUSED if refused else status, headers, body)


def native_body(
    vendor: Vendor, request: CompletionRequest
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body of a request for text completions, and the parameters dropped from it.

    Raises: UnsupportedParameter.
    """
    check_prompt(vendor, request)
    parameters, dropped = supported(vendor, request)
    least = vendor.quirks.get("least_logprobs", 0)
    if parameters.get("logprobs", least) < least:
        parameters["logprobs"] = least
    if "stop" in parameters and vendor.quirks.get("stop_list"):
        parameters["stop"] = as_list(parameters["stop"])
    body = {"model": request.model_name, "prompt": request.prompt}
    return body | vendor.quirks.get("sends", {}) | parameters | dict(request.extra), dropped


def posted(
    vendor: Vendor,
    request: CompletionRequest,
    path: str,
    body: Mapping[str, Any],
    dropped: tuple[str, ...] = (),
) -> VendorRequest:
    """Return the POST of a body to an OpenAI-like endpoint, which may answer with a stream."""
    return VendorRequest(
        f"{vendor.base_url}{path}",
        json_headers(vendor, request),
        strict_json.dump({**body, **stream_fields(vendor, request)}),
        dropped,
    )


def stream_fields(vendor: Vendor, request: CompletionRequest) -> dict[str, Any]:
    """Return the fields that ask for a stream and its usage; none for a whole answer."""
    if not is_streamed(vendor, request):
        return {}
    if not vendor.asks_usage:  # it refuses the whole field
        return {"stream": True}
    options = {**(request.stream_options or {}), "include_usage": True}
    return {"stream": True, "stream_options": options}


def is_streamed(vendor: Vendor, request: CompletionRequest) -> bool:
    """Whether the vendor is to stream its answer."""
    return request.stream and bool(vendor.quirks.get("streams", True))


def json_headers(vendor: Vendor, request: CompletionRequest) -> dict[str, str]:
    """Return the headers of a JSON request, our key among them."""
    streamed = is_streamed(vendor, request)
    return {
        "content-type": "application/json",
        "accept": "text/event-stream" if streamed else "application/json",
        **vendor.headers,
    }
