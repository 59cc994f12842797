"""Scale Launch: a task for a deployed bundle, whose container speaks OpenAI's completions wire.

The model is an endpoint's id. Source: scaleapi/llm-engine, api/tasks_v1.py, common/dtos/tasks.py
and inference/forwarding; docs/vendors.md.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from marshmallow.fields import Field

from app.formats import strict_json
from app.gateways.base import plain_mapping
from app.gateways.decoding import failures
from app.gateways.decoding.framing import values_in
from app.gateways.decoding.parsing import failed
from app.gateways.decoding.reader import DONE, AnswerReader
from app.gateways.openai.completions import (
    OpenAIGateway,
    is_streamed,
    json_headers,
    native_body,
    stream_fields,
)
from app.gateways.openai.response import OpenAIWire
from app.vendors.vendor import Vendor
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest


class LaunchGateway(OpenAIGateway):
    """OpenAI's request as a task's arguments, and its answer as a task's result."""

    quirks: ClassVar[Mapping[str, Field[Any]]] = OpenAIGateway.quirks

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the task: what the caller set, and nothing that it did not."""
        body, dropped = native_body(vendor, request)
        kind = "streaming" if is_streamed(vendor, request) else "sync"
        query = urlencode({"model_endpoint_id": request.model_name})
        return VendorRequest(
            f"{vendor.base_url}/{kind}-tasks?{query}",
            json_headers(vendor, request),
            strict_json.dump({"args": {**body, **stream_fields(vendor, request)}}),
            dropped,
        )

    def reader(self, vendor: Vendor, request: CompletionRequest) -> AnswerReader:
        """Return the reader of one answer."""
        return AnswerReader(LaunchWire(vendor, request))


class LaunchWire(OpenAIWire):
    """What a task's answer means, and a stream's events, which are tasks as well.

    What the container said is inside: an answer, an event, or the end mark of its stream.
    """

    text_key: ClassVar[bytes] = b""

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:  # noqa: ARG002 - as others
        """Return what the container said in a task."""
        result = result_of(self.vendor, value)
        if not isinstance(result, str):
            return (result,)
        text = result.strip().encode("utf-8", "replace")
        if text.startswith(DONE):
            self.is_over = True
            return ()
        return values_in(self.vendor, text) if text else ()


def result_of(vendor: Vendor, task: Any) -> Any:
    """Return what the container said, as it said it.

    Shapes: {"status": "SUCCESS", "result": it}, with or without a second {"result": it} around
    it; "it" is JSON, or a text that holds it.
    Raises: GatewayError when the task failed, with the status that the container gave.
    """
    body = plain_mapping(task)
    if body.get("status") != "SUCCESS":
        raise _task_failure(vendor, body)
    result = body.get("result")
    if isinstance(result, dict) and "result" in result:
        result = result["result"]
    if result is None:
        raise failed(vendor, "sent a task without a result")
    return result


def _task_failure(vendor: Vendor, task: Mapping[str, Any]) -> GatewayError:
    """Return the error of a task; a traceback that is no error body is nobody's to read."""
    traceback = task.get("traceback")
    try:
        said = failures.detail(strict_json.load_vendor(str(traceback).encode("utf-8", "replace")))
    except ValueError:
        said = failures.Detail()
    status = failures.detail({"status_code": task.get("status_code")}).status
    return failures.failure(vendor, status, said)
