"""Amazon Bedrock's Converse and ConverseStream: chat with any model, in one form.

Source: botocore's model of bedrock-runtime, 2023-09-30; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.completion import Completion, CompletionRequest, Usage
from app.errors import GatewayError
from app.gateways import bedrock_errors
from app.gateways.answers import failed, load
from app.gateways.base import Vendor, VendorRequest, plain_mapping, single_prompt
from app.gateways.bedrock_wire import (
    QUIRKS,
    BedrockStreamDecoder,
    Piece,
    as_list,
    completion,
    decode_usage,
    request_metadata,
    vendor_request,
)
from app.gateways.finish import narrow
from app.gateways.parameters import check_extra, check_prompt, check_range, supported

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

    refuses: ClassVar[frozenset[str]] = frozenset(
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
        parameters, dropped = supported(vendor, request, self.refuses)
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

    def decode(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        """Return the whole answer; what the model thought is no part of its text."""
        answer = plain_mapping(load(vendor, body))
        message = plain_mapping(plain_mapping(answer.get("output")).get("message"))
        content, reason = message.get("content"), narrow(vendor, answer.get("stopReason"))
        if not isinstance(content, list) or reason is None:
            raise failed(vendor, "sent no complete message")
        text = "".join(_text(vendor, block) for block in content)
        return completion(request, Piece(text, reason, _usage(answer)))

    def stream_decoder(self, vendor: Vendor, request: CompletionRequest) -> BedrockStreamDecoder:
        """Return the decoder for one streamed answer."""
        return BedrockStreamDecoder(vendor, request, lambda kind, body: _read(vendor, kind, body))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return bedrock_errors.decode_error(vendor, status, headers, body)


def _read(vendor: Vendor, kind: str, payload: Any) -> Piece:
    """Read one event; kinds that say nothing of text, its end or its price are passed over."""
    body = plain_mapping(payload)
    if kind == "contentBlockDelta":
        return Piece(text=_text(vendor, body.get("delta")))
    if kind == "messageStop":
        reason = narrow(vendor, body.get("stopReason"))
        if reason is None:
            raise failed(vendor, "ended the answer without a reason")
        return Piece(finish_reason=reason)
    return Piece(usage=_usage(body)) if kind == "metadata" else Piece()


def _text(vendor: Vendor, block: Any) -> str:
    """Return a content block's text; "" of one that holds something else."""
    text = plain_mapping(block).get("text") or ""
    if not isinstance(text, str):
        raise failed(vendor, "sent a content block without text")
    return text


def _usage(answer: Mapping[str, Any]) -> Usage | None:
    return decode_usage(answer.get("usage"), COUNTS)
