"""Marshmallow at the edge: a caller's JSON to a CompletionRequest, and answers back to JSON.

Types are strict: `"5"`, `5.0` and `true` are no integers, 1 is no boolean. null means absent.
Source: the public reference of `POST /v5/completions` and OpenAI's CreateCompletionRequest.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validates_schema

from app.completion import Choice, Completion, CompletionRequest, Usage
from app.errors import InvalidRequest, UnsupportedParameter
from app.usage.event import TEXT_LIMIT

MISSING = "missing_required_parameter"
TYPE = "invalid_type"
VALUE = "invalid_value"

PROMPTS_LIMIT = 2048
STOPS_LIMIT = 4

#: Names of the chat API that callers send here by mistake, and what to do instead.
CHAT_ONLY: Mapping[str, str] = {
    "messages": "send the text as `prompt`",
    "max_completion_tokens": "did you mean `max_tokens`?",
    "top_logprobs": "did you mean `logprobs`?",
    "tools": "completions call no tools",
    "tool_choice": "completions call no tools",
    "parallel_tool_calls": "completions call no tools",
    "functions": "completions call no functions",
    "function_call": "completions call no functions",
    "response_format": "completions answer with plain text",
    "modalities": "completions answer with plain text",
    "audio": "completions answer with plain text",
    "reasoning_effort": "completions have no such setting",
    "prediction": "completions have no such setting",
    "web_search_options": "completions have no such setting",
}


class Problem(str):
    """A sentence about one value, with the error code that it carries to the caller."""

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, sentence: str) -> "Problem":
        """Return the sentence, marked with its code."""
        self = super().__new__(cls, sentence)
        self.code = code
        return self


def _wrong_type(wanted: str) -> ValidationError:
    return ValidationError([Problem(TYPE, f"must be {wanted}")])


def _wrong_value(sentence: str) -> ValidationError:
    return ValidationError([Problem(VALUE, sentence)])


def _each(values: list[Any], check: Callable[[Any], Any]) -> list[Any]:
    """Check every item; the index of the first wrong one joins the path of its error."""
    checked = []
    for index, value in enumerate(values):
        try:
            checked.append(check(value))
        except ValidationError as exc:
            raise ValidationError({index: exc.messages}) from exc
    return checked


class _Nullable(fields.Field[Any]):
    """An optional field for which null is the same as not being there."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_none=True, **kwargs)


class _Number(_Nullable):
    types: ClassVar[tuple[type, ...]] = (int, float)
    wanted = "a number"

    def __init__(self, low: float, high: float | None = None) -> None:
        super().__init__()
        self.low = low
        self.high = high

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if type(value) not in self.types:
            raise _wrong_type(self.wanted)
        if value < self.low or (self.high is not None and value > self.high):
            bound = f">= {self.low}" if self.high is None else f"from {self.low} to {self.high}"
            raise _wrong_value(f"must be {bound}")
        return value


class _Integer(_Number):
    types = (int,)
    wanted = "an integer"


class _Boolean(_Nullable):
    def _deserialize(self, value: Any, *_: Any, **__: Any) -> bool:
        if not isinstance(value, bool):
            raise _wrong_type("true or false")
        return value


class _String(_Nullable):
    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str):
            raise _wrong_type("a string")
        return value


class _Model(fields.Field[str]):
    def _deserialize(self, value: Any, *_: Any, **__: Any) -> str:
        if not isinstance(value, str):
            raise _wrong_type("a string")
        vendor, _slash, name = value.partition("/")
        if not vendor or not name or name.startswith("/") or value != value.strip():
            raise _wrong_value("must be `vendor/name`, for example `openai/gpt-4o`")
        if len(value) > TEXT_LIMIT:
            raise _wrong_value(f"must be at most {TEXT_LIMIT} characters long")
        return value


class _Prompt(fields.Field[Any]):
    """A string, strings, token ids, or lists of token ids; never empty, never mixed."""

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if isinstance(value, str):
            return value
        if not isinstance(value, list):
            raise _wrong_type("a string or an array of strings")
        if not value:
            raise _wrong_value("must not be an empty array")
        if type(value[0]) is int:
            return self._tokens(value)
        if len(value) > PROMPTS_LIMIT:
            raise _wrong_value(f"must hold at most {PROMPTS_LIMIT} prompts")
        if isinstance(value[0], list):
            return tuple(_each(value, self._token_list))
        return tuple(_each(value, self._text))

    @staticmethod
    def _text(value: Any) -> str:
        if not isinstance(value, str):
            raise _wrong_type("a string, like the rest of the array")
        return value

    def _tokens(self, value: list[Any]) -> tuple[int, ...]:
        return tuple(_each(value, self._token))

    def _token_list(self, value: Any) -> tuple[int, ...]:
        if not isinstance(value, list):
            raise _wrong_type("an array of token ids, like the rest of the array")
        if not value:
            raise _wrong_value("must not be an empty array")
        return self._tokens(value)

    @staticmethod
    def _token(value: Any) -> int:
        if type(value) is not int:
            raise _wrong_type("a token id (an integer), like the rest of the array")
        if value < 0:
            raise _wrong_value("must be a token id >= 0")
        return value


class _Stop(_Nullable):
    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if isinstance(value, str):
            return self._sequence(value)
        if not isinstance(value, list):
            raise _wrong_type("a string or an array of strings")
        if not 1 <= len(value) <= STOPS_LIMIT:
            raise _wrong_value(f"must hold from 1 to {STOPS_LIMIT} sequences")
        return tuple(_each(value, self._sequence))

    @staticmethod
    def _sequence(value: Any) -> str:
        if not isinstance(value, str):
            raise _wrong_type("a string")
        if not value:
            raise _wrong_value("must not be empty")
        return value


class _LogitBias(_Nullable):
    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong_type("an object of token ids to numbers")
        for token, bias in value.items():
            if type(bias) not in (int, float):
                raise ValidationError({token: [Problem(TYPE, "must be a number")]})
            if not -100 <= bias <= 100:
                raise ValidationError({token: [Problem(VALUE, "must be from -100 to 100")]})
        return value


class _StreamOptions(_Nullable):
    """A free map, of which we read `include_usage`."""

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong_type("an object")
        options = {name: option for name, option in value.items() if option is not None}
        for name in ("include_usage", "include_obfuscation", "continuous_usage_stats"):
            if not isinstance(options.get(name, False), bool):
                raise ValidationError({name: [Problem(TYPE, "must be true or false")]})
        return options


def _required(field: type[fields.Field[Any]]) -> fields.Field[Any]:
    absent = Problem(MISSING, "is required")
    return field(required=True, error_messages={"required": absent, "null": absent})


class CompletionRequestSchema(Schema):
    """The body of `POST /v5/completions`, as far as the contract names its fields."""

    class Meta:
        """Other fields are for the gateway to forward or to refuse."""

        unknown = EXCLUDE

    model = _required(_Model)
    prompt = _required(_Prompt)
    best_of = _Integer(1, 20)
    echo = _Boolean()
    frequency_penalty = _Number(-2, 2)
    logit_bias = _LogitBias()
    logprobs = _Integer(0, 5)
    max_tokens = _Integer(0, 2**31 - 1)
    n = _Integer(1, 128)
    presence_penalty = _Number(-2, 2)
    seed = _Integer(-(2**63), 2**63 - 1)
    stop = _Stop()
    stream = _Boolean()
    stream_options = _StreamOptions()
    suffix = _String()
    temperature = _Number(0, 2)
    top_p = _Number(0, 1)
    user = _String()

    @validates_schema(skip_on_field_errors=True)
    def _check_together(self, values: Mapping[str, Any], **_: Any) -> None:
        best_of, stream = values.get("best_of"), values.get("stream")
        if best_of is not None and best_of < (values.get("n") or 1):
            raise ValidationError([Problem(VALUE, "must be at least `n`")], "best_of")
        if best_of is not None and best_of > 1 and stream:
            raise ValidationError([Problem(VALUE, "cannot be above 1 with `stream`")], "best_of")
        if values.get("stream_options") is not None and not stream:
            raise ValidationError(
                [Problem(VALUE, "is only allowed when `stream` is true")], "stream_options"
            )


_REQUEST = CompletionRequestSchema()
_KNOWN = frozenset(_REQUEST.fields)


def load_completion_request(body: Mapping[str, Any]) -> CompletionRequest:
    """Check a caller's JSON object and return what it asks for.

    Raises: InvalidRequest for the first field that is wrong, named in `param`.
    """
    extra = {n: v for n, v in body.items() if n not in _KNOWN and v is not None}
    for name in extra:  # looked at first: whoever sends `messages` misses no `prompt`
        if name in CHAT_ONLY:
            raise UnsupportedParameter(
                f"`{name}` is not a parameter of text completions: {CHAT_ONLY[name]}.", param=name
            )
    try:
        values = _REQUEST.load(body)
    except ValidationError as exc:
        raise first_problem(exc) from exc
    return CompletionRequest(**{n: v for n, v in values.items() if v is not None}, extra=extra)


def first_problem(error: ValidationError) -> InvalidRequest:
    """Return the caller's error for the first of a marshmallow error's messages.

    Shapes: `{"stop": {2: ["must be a string"]}}` becomes `param="stop[2]"`.
    """
    path, problem = "", error.messages
    while isinstance(problem, dict):
        key, problem = next(iter(problem.items()))
        path += f"[{key}]" if isinstance(key, int) else f".{_short(key)}" if path else _short(key)
    sentence = problem[0] if isinstance(problem, list) else problem
    code = sentence.code if isinstance(sentence, Problem) else VALUE
    return InvalidRequest(f"`{path}` {sentence}.", param=path, code=code)


def _short(key: Any) -> str:
    """Return a caller's key, short enough for a message."""
    return str(key)[:64]


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
    return body


def _dump_choice(choice: Choice) -> dict[str, Any]:
    return {
        "index": choice.index,
        "text": choice.text,
        "logprobs": choice.logprobs,
        "finish_reason": choice.finish_reason,
    }


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
