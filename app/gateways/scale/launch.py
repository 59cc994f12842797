"""Scale Launch: a task for a deployed bundle, whose container serves an API of OpenAI's.

The model's name is an endpoint's id. Source: scaleapi/llm-engine, api/tasks_v1.py,
common/dtos/tasks.py and inference/forwarding; docs/vendors.md.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from marshmallow.fields import Field

from app.formats import strict_json
from app.gateways.decoding import failures
from app.gateways.decoding.chunk_template import ChunkTemplate
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.framing import values_in
from app.gateways.decoding.parsing import failed, plain_mapping
from app.gateways.decoding.reader import DONE, ResponseReader
from app.gateways.openai import errors
from app.gateways.openai.chat import OpenAIChatGateway
from app.gateways.openai.chat_body import chat_body
from app.gateways.openai.chat_response import OpenAIChatDecoder
from app.gateways.openai.completions import (
    OpenAIGateway,
    is_streamed,
    json_headers,
    native_body,
    stream_fields,
)
from app.gateways.openai.response import OpenAIDecoder
from app.vendors.vendor import Vendor
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.request import GenerationRequest
from app.vocabulary.vendor_request import VendorRequest


class LaunchGateway(OpenAIGateway):
    """Sends OpenAI's request as a task's arguments; its response is the task's result."""

    quirks: ClassVar[Mapping[str, Field[Any]]] = OpenAIGateway.quirks

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        return _task(vendor, request, *native_body(vendor, request))

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(LaunchDecoder(vendor, request))


class LaunchChatGateway(OpenAIChatGateway):
    """The same for a bundle whose container serves OpenAI's chat API."""

    def encode(self, vendor: Vendor, request: ChatRequest) -> VendorRequest:
        return _task(vendor, request, *chat_body(vendor, request))

    def decoder(self, vendor: Vendor, request: ChatRequest) -> OpenAIChatDecoder:
        return LaunchChatDecoder(vendor, request)


def _task(
    vendor: Vendor, request: GenerationRequest, body: Mapping[str, Any], dropped: tuple[str, ...]
) -> VendorRequest:
    """Return the request for a task whose arguments are OpenAI's request."""
    kind = "streaming" if is_streamed(vendor, request) else "sync"
    query = urlencode({"model_endpoint_id": request.model_name})
    return VendorRequest(
        f"{vendor.base_url}/{kind}-tasks?{query}",
        json_headers(vendor, request),
        strict_json.dump({"args": {**body, **stream_fields(vendor, request)}}),
        dropped,
    )


class TaskDecoder(Decoder):
    """Decodes tasks; the events of a stream are tasks, too.

    A task holds the container's output: a response, an event, or the end mark of its stream.
    """

    def template(self) -> ChunkTemplate | None:
        """Return None: the text is in JSON inside of a task's JSON."""
        return None

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:  # noqa: ARG002 - an override
        """Return the JSON values of the container's output in a task."""
        result = result_of(self.vendor, value)
        if not isinstance(result, str):
            return (result,)
        text = result.strip().encode("utf-8", "replace")
        if text.startswith(DONE):
            self.is_over = True
            return ()
        return values_in(self.vendor, text) if text else ()


class LaunchDecoder(TaskDecoder, OpenAIDecoder):
    """Decodes tasks that hold completions."""


class LaunchChatDecoder(TaskDecoder, OpenAIChatDecoder):
    """Decodes tasks that hold chats."""


def result_of(vendor: Vendor, task: Any) -> Any:
    """Return the container's output: JSON, or a text that holds JSON.

    Shapes: {"status": "SUCCESS", "result": output}, with or without a second {"result": output}
    around the output.
    Raises: GatewayError if the task failed, with the status that the container returned.
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
    """Return the error of a failed task; a traceback counts only if it parses as an error."""
    traceback = task.get("traceback")
    try:
        error = strict_json.load_vendor(str(traceback).encode("utf-8", "replace"))
    except ValueError:
        error = None
    status = failures.detail_of({"status_code": task.get("status_code")}).status
    return errors.failure(vendor, status, failures.detail_of(error))
