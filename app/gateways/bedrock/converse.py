"""Amazon Bedrock's Converse and ConverseStream: chat with any model, in one form.

Source: botocore's model of bedrock-runtime, 2023-09-30; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.gateways.base import plain_mapping, single_prompt
from app.gateways.bedrock import errors
from app.gateways.bedrock.common import (
    QUIRKS,
    BedrockFraming,
    BedrockWire,
    Piece,
    as_list,
    decode_usage,
    request_metadata,
    vendor_request,
)
from app.gateways.decoding.finish import Finish, narrow
from app.gateways.decoding.parsing import failed
from app.gateways.decoding.reader import AnswerReader
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: Our parameter -> its name in `inferenceConfig`.
CONFIG: Mapping[str, str] = {
    "max_tokens": "maxTokens",
    "stop": "stopSequences",
    "temperature": "temperature",
    "top_p": "topP",
}

COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")


class ConverseGateway:
    """A prompt is one user's message; the text of the answer's message is the completion."""

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
        """Return the vendor's request: what the caller set, and nothing that it did not."""
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
        if config := {word: parameters[n] for n, word in CONFIG.items() if n in parameters}:
            body["inferenceConfig"] = config
        if metadata := request_metadata(vendor, parameters.get("user")):
            body["requestMetadata"] = metadata
        operation = "converse-stream" if request.stream else "converse"
        return vendor_request(vendor, request, operation, body, dropped=dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> AnswerReader:
        """Return the reader of one answer."""
        return AnswerReader(ConverseWire(vendor, request), BedrockFraming(vendor))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return errors.decode_error(vendor, status, headers, body)


class ConverseWire(BedrockWire):
    """What Converse's answers and events mean; what the model thought is no part of its text."""

    def read(self, payload: Any) -> Completion | None:
        """Return what an event says; kinds that say nothing of text, end or price say nothing."""
        kind, told = payload if isinstance(payload, tuple) else ("", payload)
        body = plain_mapping(told)
        match kind:
            case "contentBlockDelta":
                return self.completion(Piece(_text(self.vendor, body.get("delta"))))
            case "messageStop":
                finish = narrow(self.vendor, body.get("stopReason"))
                return self.completion(Piece(finish=finish if finish.reason else Finish("stop")))
            case "metadata":
                return self.completion(Piece(usage=self.usage(payload), tier=_tier(body)))
        return None

    def read_whole(self, payload: Any) -> Completion:
        """Return a whole answer."""
        answer = plain_mapping(payload)
        content = plain_mapping(plain_mapping(answer.get("output")).get("message")).get("content")
        if not isinstance(content, list):
            raise failed(self.vendor, "sent no message")
        text = "".join(_text(self.vendor, block) for block in content)
        finish = narrow(self.vendor, answer.get("stopReason"))
        piece = Piece(text, finish, self.usage(payload), _tier(answer))
        return self.completion(piece, is_whole=True)

    def usage(self, payload: Any) -> Usage | None:
        """Return the count of an answer or of an event."""
        told = payload[1] if isinstance(payload, tuple) else payload
        return decode_usage(plain_mapping(told).get("usage"), COUNTS)


def _tier(body: Mapping[str, Any]) -> str | None:
    tier = plain_mapping(body.get("serviceTier")).get("type")
    return tier if isinstance(tier, str) and tier else None


def _text(vendor: Vendor, block: Any) -> str:
    """Return a content block's text; "" of one that holds something else."""
    text = plain_mapping(block).get("text") or ""
    if not isinstance(text, str):
        raise failed(vendor, "sent a content block without text")
    return text
