"""Amazon Bedrock's Converse and ConverseStream: chat with any model, in one format.

Source: botocore's model of bedrock-runtime, 2023-09-30; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.gateways.base import single_prompt
from app.gateways.bedrock import errors
from app.gateways.bedrock.common import (
    QUIRKS,
    BedrockDecoder,
    BedrockFraming,
    Delta,
    decode_usage,
    request_metadata,
    vendor_request,
)
from app.gateways.decoding.finish import Finish, narrow
from app.gateways.decoding.parsing import failed, plain_mapping
from app.gateways.decoding.reader import ResponseReader
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.gateways.stops import as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: The caller's parameter -> its name in `inferenceConfig`.
CONFIG: Mapping[str, str] = {
    "max_tokens": "maxTokens",
    "stop": "stopSequences",
    "temperature": "temperature",
    "top_p": "topP",
}

COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")


class ConverseGateway:
    """A prompt becomes one user's message; the text of the reply is the completion."""

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {
            "best_of",
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "presence_penalty",
            "seed",
            "suffix",
        }
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, Field[Any]]] = QUIRKS

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        check_prompt(vendor, request)
        check_extra(vendor, request)
        parameters, dropped = supported(vendor, request, self.unsupported)
        check_range(vendor, request, "temperature", 0, 1)
        check_range(vendor, request, "max_tokens", 1)
        if "stop" in parameters:
            parameters["stop"] = as_list(parameters["stop"])
        body: dict[str, Any] = {
            "messages": [{"role": "user", "content": [{"text": single_prompt(request)}]}]
        }
        if config := {theirs: parameters[n] for n, theirs in CONFIG.items() if n in parameters}:
            body["inferenceConfig"] = config
        if metadata := request_metadata(vendor, parameters.get("user")):
            body["requestMetadata"] = metadata
        operation = "converse-stream" if request.stream else "converse"
        return vendor_request(vendor, request, operation, body, dropped=dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(ConverseDecoder(vendor, request), BedrockFraming(vendor))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return errors.decode_error(vendor, status, headers, body)


class ConverseDecoder(BedrockDecoder):
    """Decodes Converse's responses and events; reasoning is not part of the text."""

    def read(self, payload: Any) -> Completion | None:
        kind, event = payload if isinstance(payload, tuple) else ("", payload)
        body = plain_mapping(event)
        match kind:
            case "contentBlockDelta":
                return self.completion(Delta(_text(self.vendor, body.get("delta"))))
            case "messageStop":
                finish = narrow(self.vendor, body.get("stopReason"))
                return self.completion(Delta(finish=finish if finish.reason else Finish("stop")))
            case "metadata":
                return self.completion(Delta(usage=self.usage(payload), tier=_tier(body)))
        return None

    def read_whole(self, payload: Any) -> Completion:
        response = plain_mapping(payload)
        output = plain_mapping(response.get("output"))
        content = plain_mapping(output.get("message")).get("content")
        if not isinstance(content, list):
            raise failed(self.vendor, "sent a response without a message")
        text = "".join(_text(self.vendor, block) for block in content)
        finish = narrow(self.vendor, response.get("stopReason"))
        delta = Delta(text, finish, self.usage(payload), _tier(response))
        return self.completion(delta, is_whole=True)

    def usage(self, payload: Any) -> Usage | None:
        body = payload[1] if isinstance(payload, tuple) else payload
        return decode_usage(plain_mapping(body).get("usage"), COUNTS)


def _tier(body: Mapping[str, Any]) -> str | None:
    tier = plain_mapping(body.get("serviceTier")).get("type")
    return tier if isinstance(tier, str) and tier else None


def _text(vendor: Vendor, block: Any) -> str:
    """Return a content block's text; "" for a block of another kind."""
    text = plain_mapping(block).get("text") or ""
    if not isinstance(text, str):
        raise failed(vendor, "sent a content block without text")
    return text
