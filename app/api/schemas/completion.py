"""A JSON request body to a CompletionRequest, and completions back to JSON.

`fields` and `completion_fields` check the values. Source: the public reference of
`POST /v5/completions` and OpenAI's CreateCompletionRequest.
"""

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError, fields

from app.api.schemas.body_schema import BodySchema
from app.api.schemas.completion_fields import (
    LogitBiasField,
    ModelField,
    PromptField,
    StopField,
    StreamOptionsField,
)
from app.api.schemas.fields import (
    MISSING,
    VALUE,
    BooleanField,
    IntegerField,
    NumberField,
    Problem,
    StringField,
)
from app.api.schemas.problems import first_problem
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import UnsupportedParameter, together

#: Parameters of the chat API that callers send here by mistake -> the next step.
CHAT_ONLY: Mapping[str, str] = {
    "messages": "send it to `/v5/chat/completions`",
    "max_completion_tokens": "did you mean `max_tokens`?",
    "top_logprobs": "did you mean `logprobs`?",
    "tools": "only `/v5/chat/completions` can call tools",
    "tool_choice": "only `/v5/chat/completions` can call tools",
    "parallel_tool_calls": "only `/v5/chat/completions` can call tools",
    "functions": "only `/v5/chat/completions` can call functions",
    "function_call": "only `/v5/chat/completions` can call functions",
    "response_format": "only `/v5/chat/completions` has it",
    "modalities": "only `/v5/chat/completions` has it",
    "audio": "only `/v5/chat/completions` has it",
    "reasoning_effort": "only `/v5/chat/completions` has it",
    "prediction": "only `/v5/chat/completions` has it",
    "web_search_options": "only `/v5/chat/completions` has it",
}


#: The most characters or tokens of prompts that `echo` repeats, over all choices: there may be 128
#: choices of a prompt of megabytes.
ECHO_LIMIT = 2**25


def _required(field: type[fields.Field[Any]]) -> fields.Field[Any]:
    absent = Problem(MISSING, "is required")
    return field(required=True, error_messages={"required": absent, "null": absent})


class CompletionRequestSchema(BodySchema):
    """The body of `POST /v5/completions`: the fields that the contract names."""

    needed = ("model", "prompt")

    model = _required(ModelField)
    prompt = _required(PromptField)
    best_of = IntegerField(1, 20)
    echo = BooleanField()
    frequency_penalty = NumberField(-2, 2)
    logit_bias = LogitBiasField()
    logprobs = IntegerField(0, 5)
    max_tokens = IntegerField(0, 2**31 - 1)
    n = IntegerField(1, 128)
    presence_penalty = NumberField(-2, 2)
    seed = IntegerField(-(2**63), 2**63 - 1)
    stop = StopField()
    stream = BooleanField()
    stream_options = StreamOptionsField()
    suffix = StringField()
    temperature = NumberField(0, 2)
    top_p = NumberField(0, 1)
    user = StringField()

    def check_together(self, values: Mapping[str, Any]) -> None:
        best_of, stream = values.get("best_of"), values.get("stream")
        if best_of is not None and best_of < (values.get("n") or 1):
            raise ValidationError([Problem(VALUE, "must be at least `n`")], "best_of")
        if best_of is not None and best_of > 1 and stream:
            raise ValidationError([Problem(VALUE, "cannot be above 1 with `stream`")], "best_of")
        if values.get("echo") and _echoed(values) > ECHO_LIMIT:
            sentence = f"would repeat more than {ECHO_LIMIT} characters of the prompts"
            raise ValidationError([Problem(VALUE, sentence)], "echo")
        if values.get("stream_options") is not None and not stream:
            raise ValidationError(
                [Problem(VALUE, "is only allowed when `stream` is true")], "stream_options"
            )


def _echoed(values: Mapping[str, Any]) -> int:
    """Return how many characters or tokens of prompts the response would repeat."""
    prompt = values["prompt"]
    is_one = isinstance(prompt, str) or isinstance(prompt[0], int)
    length = len(prompt) if is_one else sum(map(len, prompt))
    return length * (values.get("n") or 1)


_SCHEMA = CompletionRequestSchema()
_KNOWN = frozenset(_SCHEMA.fields)


def load_completion_request(body: Mapping[str, Any]) -> CompletionRequest:
    """Return the request in a JSON object.

    Raises: InvalidRequest for the first invalid field, named in `param`.
    """
    extra = {n: v for n, v in body.items() if n not in _KNOWN and v is not None}
    # First: a body with `messages` must not get an error about `prompt`.
    if misplaced := [_misplaced(name) for name in CHAT_ONLY if name in extra]:
        raise together(misplaced)
    try:
        values = _SCHEMA.checked(body)
    except ValidationError as exc:
        raise first_problem(exc) from exc
    return CompletionRequest(**values, extra=extra)


def _misplaced(name: str) -> UnsupportedParameter:
    words = f"`{name}` is not a parameter of text completions: {CHAT_ONLY[name]}"
    return UnsupportedParameter(words if words.endswith("?") else f"{words}.", param=name)


def dump_completion(completion: Completion) -> dict[str, Any]:
    """Return the `text_completion` object of the contract."""
    body = dump_chunk(completion)
    if completion.usage is not None:
        body["usage"] = dump_usage(completion.usage)
    return body


def dump_chunk(chunk: Completion) -> dict[str, Any]:
    """Return one streamed `text_completion` object, without its usage."""
    body: dict[str, Any] = {
        "id": chunk.id,
        "object": "text_completion",
        "created": chunk.created,
        "model": chunk.model,
        "choices": [_dump_choice(choice) for choice in chunk.choices],
    }
    if chunk.system_fingerprint is not None:
        body["system_fingerprint"] = chunk.system_fingerprint
    if chunk.service_tier is not None:
        body["service_tier"] = chunk.service_tier
    return body


class TextChunks:
    """Dumps the chunks of a stream, each on its own."""

    def dump(self, chunk: Completion) -> list[dict[str, Any]]:
        """Return the `text_completion` object of a chunk, without its usage."""
        return [dump_chunk(chunk)]

    def usage(self, usage: Usage) -> dict[str, Any]:
        """Return a usage."""
        return dump_usage(usage)


def _dump_choice(choice: Choice) -> dict[str, Any]:
    body = {
        "index": choice.index,
        "text": choice.text,
        "logprobs": choice.logprobs,
        "finish_reason": choice.finish_reason,
    }
    if choice.native_finish_reason is not None:
        body["native_finish_reason"] = choice.native_finish_reason
    return {**choice.extra, **body} if choice.extra else body


def dump_usage(usage: Usage) -> dict[str, Any]:
    """Return the contract's CompletionUsage, with every detail that it names."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "audio_tokens": usage.audio_prompt_tokens,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": usage.audio_completion_tokens,
            "accepted_prediction_tokens": usage.accepted_prediction_tokens,
            "rejected_prediction_tokens": usage.rejected_prediction_tokens,
        },
    }
