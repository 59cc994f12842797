"""A completion request, a completion, its choices and its usage. All values are immutable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

Prompt = str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]
FinishReason = Literal["stop", "length", "content_filter"]
#: Why a choice ended, as read from a vendor. "error" is a failure: callers get an error instead.
Ending = FinishReason | Literal["error"]
#: The side of a count that the vendor left out; "both" if it sent only a total.
Lack = Literal["", "prompt", "completion", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request; all whole and >= 0.

    `prompt_tokens` include `cached_tokens`, `cache_write_tokens` and `audio_prompt_tokens`.
    `completion_tokens` include `reasoning_tokens`, `audio_completion_tokens` and both prediction
    counts.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    audio_prompt_tokens: int = 0
    audio_completion_tokens: int = 0
    accepted_prediction_tokens: int = 0
    rejected_prediction_tokens: int = 0

    #: The unknown side; see HalfUsage.
    lacks: ClassVar[Lack] = ""

    def __add__(self, other: "Usage") -> "Usage":
        """Sum two requests' usage, count by count."""
        return Usage(**{n: getattr(self, n) + getattr(other, n) for n in USAGE_COUNTS})

    def __bool__(self) -> bool:
        """Whether any count is above 0: some vendors send zeros before the real counts."""
        return bool(self.total_tokens or self.prompt_tokens or self.completion_tokens)


USAGE_COUNTS: tuple[str, ...] = tuple(f.name for f in fields(Usage))


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfUsage(Usage):
    """A usage with an unknown side, `lacks`, whose counts are 0 here.

    Usage events and callers never get one: the meter estimates the missing side.
    """

    lacks: Lack  # type: ignore[misc]  # a ClassVar there, a field here


@dataclass(frozen=True, slots=True)
class Choice:
    """One alternative, or one streamed delta of it (`finish_reason` None until the last delta).

    `native_finish_reason` is the vendor's own value, if it is unknown or means a failure. `extra`
    holds the fields of the vendor's choice that the public contract does not name.
    """

    index: int
    text: str
    finish_reason: Ending | None = None
    logprobs: Mapping[str, Any] | None = None
    native_finish_reason: str | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole completion, or one chunk of a stream: OpenAI's format has the same shape for both.

    `created` is in Unix seconds. `model` and `service_tier` are as the vendor reports them.
    """

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionRequest:
    """A caller's request; None means that the caller did not set the field.

    `model` is `vendor/name`. `extra` holds top-level fields that the public contract does not
    name; OpenAI-compatible vendors get them unchanged.
    """

    model: str
    prompt: Prompt
    best_of: int | None = None
    echo: bool | None = None
    frequency_penalty: float | None = None
    logit_bias: Mapping[str, float] | None = None
    logprobs: int | None = None
    max_tokens: int | None = None
    n: int | None = None
    presence_penalty: float | None = None
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    stream: bool = False
    stream_options: Mapping[str, Any] | None = None
    suffix: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    user: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def vendor(self) -> str:
        """The part of `model` before its first slash."""
        return self.model.partition("/")[0]

    @property
    def model_name(self) -> str:
        """The part of `model` after its first slash: the vendor's own name for it."""
        return self.model.partition("/")[2]

    @property
    def prompts(self) -> Sequence[str | Sequence[int]]:
        """The prompts one by one, each a text or token ids."""
        if isinstance(self.prompt, str) or isinstance(self.prompt[0], int):
            return [self.prompt]  # type: ignore[list-item]
        return self.prompt  # type: ignore[return-value]

    @property
    def choice_count(self) -> int:
        """The number of choices of a whole completion."""
        return len(self.prompts) * (self.n or 1)

    @property
    def include_usage(self) -> bool:
        """Whether the caller requested the usage chunk of a stream."""
        return bool(self.stream_options and self.stream_options.get("include_usage"))

    def parameters(self) -> dict[str, Any]:
        """Return the optional sampling parameters that the caller set, by their public names."""
        return {n: v for n in PARAMETERS if (v := getattr(self, n)) is not None}


PARAMETERS: tuple[str, ...] = (
    "best_of",
    "echo",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_tokens",
    "n",
    "presence_penalty",
    "seed",
    "stop",
    "suffix",
    "temperature",
    "top_p",
    "user",
)
