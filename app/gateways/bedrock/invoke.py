"""Amazon Bedrock's InvokeModel: a raw prompt in the model's own format.

A vendor entry's `quirks.families` maps models to formats. Source: docs/vendors.md.
"""

import base64
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from marshmallow import fields, validate

from app.formats import strict_json
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
from app.gateways.bedrock.model_families import PROMPT_FAMILIES, Path, PromptFamily, Shape
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.parsing import failed, load, plain_mapping
from app.gateways.decoding.reader import ResponseReader
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.gateways.stops import as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError, ModelNotFound
from app.vocabulary.vendor_request import VendorRequest

#: Fields that Bedrock adds to the last chunk of any family, and to filtered responses.
METRICS = "amazon-bedrock-invocationMetrics"
METRIC_COUNTS = (
    "inputTokenCount",
    "outputTokenCount",
    "cacheReadInputTokenCount",
    "cacheWriteInputTokenCount",
)
GUARDRAIL = "amazon-bedrock-guardrailAction"


class InvokeGateway:
    """The prompt is forwarded unchanged, without a model's template around it."""

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
        family = _family(vendor, request)
        check_prompt(vendor, request)
        check_extra(vendor, request)
        parameters, dropped = supported(vendor, request, family.unsupported)
        check_range(vendor, request, "temperature", 0, family.hottest)
        check_range(vendor, request, "max_tokens", 1)
        body: dict[str, Any] = {family.prompt: single_prompt(request)}
        for name in sorted(family.paths.keys() & parameters.keys()):
            value = parameters[name]
            _put(body, family.paths[name], as_list(value) if name == "stop" else value)
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

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(InvokeDecoder(vendor, request), BedrockFraming(vendor))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return errors.decode_error(vendor, status, headers, body)


class InvokeDecoder(BedrockDecoder):
    """Decodes the responses and chunks of the model's family."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._family = _family(vendor, request)

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:
        """Return a response, or the JSON inside of a chunk; nothing for other events."""
        if name is None:
            return (value,)
        return (load(self.vendor, _unwrapped(self.vendor, value)),) if name == "chunk" else ()

    def read(self, payload: Any) -> Completion | None:
        shape = self._family.chunk
        return None if shape is None else self.completion(_read(self.vendor, shape, payload))

    def read_whole(self, payload: Any) -> Completion:
        """Decode a whole response, also of a family whose responses are streams."""
        shape = self._family.response or self._family.chunk
        delta = _read(self.vendor, shape, payload) if shape else Delta()
        if not delta.text and delta.finish.reason is None:
            raise failed(self.vendor, "sent a response without text")
        return self.completion(delta, is_whole=True)

    def usage(self, payload: Any) -> Usage | None:
        body = plain_mapping(payload)
        shapes = (self._family.response, self._family.chunk)
        found = (_usage(shape, body) for shape in shapes if shape is not None)
        return next((usage for usage in found if usage is not None), None)


def _family(vendor: Vendor, request: CompletionRequest) -> PromptFamily:
    """Return the model's family, by the vendor entry's `quirks.families`.

    Raises: ModelNotFound if it names none for the model.
    """
    families: Mapping[str, str] = vendor.quirks.get("families", {})
    for glob, name in families.items():
        if fnmatchcase(request.model_name, glob):
            return PROMPT_FAMILIES[name]
    raise ModelNotFound(
        f"The prompt format of `{request.model_name[:64]}` at the vendor `{vendor.name}` is "
        "unknown. Add the model to `quirks.families` of the vendor entry.",
        param="model",
    )


def _is_streamed(family: PromptFamily, request: CompletionRequest) -> bool:
    return family.chunk is not None and (request.stream or family.response is None)


def _put(body: dict[str, Any], path: Path, value: Any) -> None:
    *outer, last = path
    for key in outer:
        body = body.setdefault(str(key), {})
    body[str(last)] = value


def _read(vendor: Vendor, shape: Shape, payload: Any) -> Delta:
    body = plain_mapping(payload)
    text = _at(body, shape.text)
    if not isinstance(text, str | None):
        raise failed(vendor, "sent a choice without text")
    filtered = body.get(GUARDRAIL) == "INTERVENED"  # the text is the guardrail's, not the model's
    finish = narrow(vendor, "guardrail_intervened" if filtered else _at(body, shape.finish))
    return Delta(text or "", finish, _usage(shape, body))


def _usage(shape: Shape, body: Mapping[str, Any]) -> Usage | None:
    if shape.counts is None:
        return decode_usage(body.get(METRICS), METRIC_COUNTS)
    read, generated = (
        len(count) if isinstance(count, list) else count
        for count in (_at(body, path) for path in shape.counts)
    )
    return decode_usage({"read": read, "generated": generated}, ("read", "generated", "", ""))


def _unwrapped(vendor: Vendor, payload: Any) -> bytes:
    """Return the JSON that a chunk holds in Base64."""
    try:
        return base64.b64decode(plain_mapping(payload).get("bytes", ""), validate=True)
    except (TypeError, ValueError) as exc:
        raise failed(vendor, "sent a malformed chunk") from exc


def _at(value: Any, path: Path) -> Any:
    """Return the value at `path`; None if there is none."""
    for key in path:
        if isinstance(key, str):
            value = plain_mapping(value).get(key)
        else:
            value = value[key] if isinstance(value, list) and len(value) > key else None
    return value
