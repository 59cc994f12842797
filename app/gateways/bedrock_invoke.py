"""Amazon Bedrock's InvokeModel: a raw prompt in the model's own form.

A row's `quirks.families` says which model takes which form. Source: docs/vendors.md.
"""

import base64
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from marshmallow import fields, validate

from app import wire
from app.completion import Completion, CompletionRequest, Usage
from app.errors import GatewayError, ModelNotFound
from app.gateways import bedrock_errors
from app.gateways.answers import failed, load
from app.gateways.base import Vendor, VendorRequest, plain_mapping, single_prompt
from app.gateways.bedrock_families import FAMILIES, Path, PromptFamily, Shape
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

#: The service's own additions to the last chunk, whatever the family, and to filtered answers.
METRICS = "amazon-bedrock-invocationMetrics"
METRIC_COUNTS = (
    "inputTokenCount",
    "outputTokenCount",
    "cacheReadInputTokenCount",
    "cacheWriteInputTokenCount",
)
GUARDRAIL = "amazon-bedrock-guardrailAction"


class InvokeGateway:
    """The prompt is forwarded as it is, without a model's template around it."""

    refuses: ClassVar[frozenset[str]] = frozenset.intersection(
        *(family.refuses for family in FAMILIES.values())
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, fields.Field[Any]]] = {
        **QUIRKS,
        # globs of model names -> the family's name here
        "families": fields.Dict(
            keys=fields.String(), values=fields.String(validate=validate.OneOf(FAMILIES))
        ),
    }

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, and nothing that it did not."""
        family = _family(vendor, request)
        check_prompt(vendor, request)
        check_extra(vendor, request)
        parameters, dropped = supported(vendor, request, family.refuses)
        check_range(vendor, request, "temperature", 0, family.hottest)
        check_range(vendor, request, "max_tokens", 1)
        body: dict[str, Any] = {family.prompt: single_prompt(request)}
        for name in sorted(family.words.keys() & parameters.keys()):
            value = parameters[name]
            _put(body, family.words[name], as_list(value) if name == "stop" else value)
        streamed = _is_streamed(family, request)
        if streamed:
            body.update(family.fixed)
        metadata = request_metadata(vendor, parameters.get("user"))
        named = {"x-amzn-bedrock-request-metadata": wire.dump(metadata).decode()}
        return vendor_request(
            vendor,
            request,
            "invoke-with-response-stream" if streamed else "invoke",
            body,
            dropped=dropped,
            headers=named if metadata else {},
        )

    def decode(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        """Return the whole answer, also where it came as a stream."""
        family = _family(vendor, request)
        if _is_streamed(family, request):
            return self._joined(vendor, request, body)
        if family.answer is None:
            raise failed(vendor, "sent an answer that was not asked for")
        piece = _read(vendor, family.answer, load(vendor, body))
        if piece.finish_reason is None:
            raise failed(vendor, "sent an answer that is not complete")
        return completion(request, piece)

    def stream_decoder(self, vendor: Vendor, request: CompletionRequest) -> BedrockStreamDecoder:
        """Return the decoder for one streamed answer."""
        shape = _family(vendor, request).chunk

        def read(kind: str, payload: Any) -> Piece:
            if kind != "chunk" or shape is None:
                return Piece()
            return _read(vendor, shape, load(vendor, _unwrapped(vendor, payload)))

        return BedrockStreamDecoder(vendor, request, read)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return bedrock_errors.decode_error(vendor, status, headers, body)

    def _joined(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        decoder = self.stream_decoder(vendor, request)
        chunks = [*decoder.feed(body), *decoder.close()]
        choices = [choice for chunk in chunks for choice in chunk.choices]
        text = "".join(choice.text for choice in choices)
        reason = next(choice.finish_reason for choice in choices if choice.finish_reason)
        usage = next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None)
        return completion(request, Piece(text, reason, usage))


def _family(vendor: Vendor, request: CompletionRequest) -> PromptFamily:
    """Return the form that the row names for the model.

    Raises: ModelNotFound when it names none.
    """
    families: Mapping[str, str] = vendor.quirks.get("families", {})
    for glob, name in families.items():
        if fnmatchcase(request.model_name, glob):
            return FAMILIES[name]
    raise ModelNotFound(
        f"The vendor `{vendor.name}` takes prompts of `{request.model_name[:64]}` in a form that "
        "its `quirks.families` does not name.",
        param="model",
    )


def _is_streamed(family: PromptFamily, request: CompletionRequest) -> bool:
    return family.chunk is not None and (request.stream or family.answer is None)


def _put(body: dict[str, Any], path: Path, value: Any) -> None:
    *outer, last = path
    for key in outer:
        body = body.setdefault(str(key), {})
    body[str(last)] = value


def _read(vendor: Vendor, shape: Shape, payload: Any) -> Piece:
    body = plain_mapping(payload)
    text = _at(body, shape.text)
    if not isinstance(text, str | None):
        raise failed(vendor, "sent a choice without text")
    filtered = body.get(GUARDRAIL) == "INTERVENED"  # the text is the guardrail's, not the model's
    reason = narrow(vendor, "guardrail_intervened" if filtered else _at(body, shape.finish))
    return Piece(text or "", reason, _usage(shape, body))


def _usage(shape: Shape, body: Mapping[str, Any]) -> Usage | None:
    if shape.counts is None:
        return decode_usage(body.get(METRICS), METRIC_COUNTS)
    read, generated = (
        len(count) if isinstance(count, list) else count
        for count in (_at(body, path) for path in shape.counts)
    )
    return decode_usage({"read": read, "generated": generated}, ("read", "generated", "", ""))


def _unwrapped(vendor: Vendor, payload: Any) -> bytes:
    """Return the JSON that a chunk holds in base 64."""
    try:
        return base64.b64decode(plain_mapping(payload).get("bytes", ""), validate=True)
    except (TypeError, ValueError) as exc:
        raise failed(vendor, "sent a broken chunk") from exc


def _at(value: Any, path: Path) -> Any:
    """Return what is at `path`, or None."""
    for key in path:
        if isinstance(key, str):
            value = plain_mapping(value).get(key)
        else:
            value = value[key] if isinstance(value, list) and len(value) > key else None
    return value
