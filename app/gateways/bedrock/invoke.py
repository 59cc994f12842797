"""Amazon Bedrock's InvokeModel: a raw prompt in the model's own form.

A row's `quirks.families` says which model takes which form. Source: docs/vendors.md.
"""

import base64
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from marshmallow import fields, validate

from app.formats import strict_json
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
from app.gateways.bedrock.model_families import PROMPT_FAMILIES, Path, PromptFamily, Shape
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.parsing import failed, load
from app.gateways.decoding.reader import AnswerReader
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError, ModelNotFound
from app.vocabulary.vendor_request import VendorRequest

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

    unsupported: ClassVar[frozenset[str]] = frozenset.intersection(
        *(family.unsupported for family in PROMPT_FAMILIES.values())
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, fields.Field[Any]]] = {
        **QUIRKS,
        # globs of model names -> the family's name here
        "families": fields.Dict(
            keys=fields.String(), values=fields.String(validate=validate.OneOf(PROMPT_FAMILIES))
        ),
    }

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, and nothing that it did not."""
        family = _family(vendor, request)
        check_prompt(vendor, request)
        check_extra(vendor, request)
        parameters, dropped = supported(vendor, request, family.unsupported)
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
        named = {"x-amzn-bedrock-request-metadata": strict_json.dump(metadata).decode()}
        return vendor_request(
            vendor,
            request,
            "invoke-with-response-stream" if streamed else "invoke",
            body,
            dropped=dropped,
            headers=named if metadata else {},
        )

    def reader(self, vendor: Vendor, request: CompletionRequest) -> AnswerReader:
        """Return the reader of one answer."""
        return AnswerReader(InvokeWire(vendor, request), BedrockFraming(vendor))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return errors.decode_error(vendor, status, headers, body)


class InvokeWire(BedrockWire):
    """What the answers and chunks of the model's family mean."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._family = _family(vendor, request)

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:
        """Return an answer, or the JSON inside a chunk; nothing of other events."""
        if name is None:
            return (value,)
        return (load(self.vendor, _unwrapped(self.vendor, value)),) if name == "chunk" else ()

    def read(self, payload: Any) -> Completion | None:
        """Return what a chunk says."""
        shape = self._family.chunk
        return None if shape is None else self.completion(_read(self.vendor, shape, payload))

    def read_whole(self, payload: Any) -> Completion:
        """Return a whole answer, also of a family whose answers are streams."""
        shape = self._family.answer or self._family.chunk
        piece = _read(self.vendor, shape, payload) if shape else Piece()
        if not piece.text and piece.finish.reason is None:
            raise failed(self.vendor, "sent an answer that holds no text")
        return self.completion(piece, is_whole=True)

    def usage(self, payload: Any) -> Usage | None:
        """Return the count in an answer or a chunk."""
        body = plain_mapping(payload)
        shapes = (self._family.answer, self._family.chunk)
        found = (_usage(shape, body) for shape in shapes if shape is not None)
        return next((usage for usage in found if usage is not None), None)


def _family(vendor: Vendor, request: CompletionRequest) -> PromptFamily:
    """Return the form that the row names for the model.

    Raises: ModelNotFound when it names none.
    """
    families: Mapping[str, str] = vendor.quirks.get("families", {})
    for glob, name in families.items():
        if fnmatchcase(request.model_name, glob):
            return PROMPT_FAMILIES[name]
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
    finish = narrow(vendor, "guardrail_intervened" if filtered else _at(body, shape.finish))
    return Piece(text or "", finish, _usage(shape, body))


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
