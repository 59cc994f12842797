"""The vocabulary: a completion request, a completion, its choices and its usage.

Imports no library, so that every layer can speak it. Values are immutable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

Prompt = str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]
FinishReason = Literal["stop", "length", "content_filter"]
#: How a vendor says that a choice ended: "error" is a failure, which never reaches a caller so.
Ending = FinishReason | Literal["error"]
#: The side of a count that a vendor left out; "both" where it gave a total alone.
Lack = Literal["", "prompt", "completion", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request; all whole and >= 0.

    `cached_tokens`, `cache_write_tokens` and `audio_prompt_tokens` are parts of `prompt_tokens`;
    `reasoning_tokens`, `audio_completion_tokens` and both prediction counts are parts of
    `completion_tokens`.
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

    #: The side that is not known; see HalfUsage.
    lacks: ClassVar[Lack] = ""

    def __add__(self, other: "Usage") -> "Usage":
        """Sum two requests' usage, count by count."""
        return Usage(**{n: getattr(self, n) + getattr(other, n) for n in USAGE_COUNTS})

    def __bool__(self) -> bool:
        """Say whether anything was counted: some vendors send zeros before the real figures."""
        return bool(self.total_tokens or self.prompt_tokens or self.completion_tokens)


USAGE_COUNTS: tuple[str, ...] = tuple(f.name for f in fields(Usage))


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfUsage(Usage):
    """What a vendor has counted so far, where that is not all.

    `lacks` names the side that it leaves open, which is 0 here. No event and no caller gets one.
    """

    lacks: Lack  # type: ignore[misc]  # a class' variable there, a field here


@dataclass(frozen=True, slots=True)
class Choice:
    """One alternative, or one streamed piece of it (`finish_reason` None until its last piece).

    `native_finish_reason` is the vendor's own word where it is one that we do not know; `extra`
    holds what the vendor's choice carries beyond the contract.
    """

    index: int
    text: str
    finish_reason: Ending | None = None
    logprobs: Mapping[str, Any] | None = None
    native_finish_reason: str | None = None
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer, or one chunk of a streamed one: OpenAI's wire has the same shape for both.

    `created` is in Unix seconds. `model` is the name that the vendor served, `service_tier` its
    word for how it was served.
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
    """What the caller asked for; None means that the caller did not set it.

    `model` is `vendor/name`. `extra` holds top-level fields that the public contract does not
    name; vendors that speak OpenAI's wire get them as they are.
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
        """The part of `model` after its first slash, as the vendor knows it."""
        return self.model.partition("/")[2]

    @property
    def prompts(self) -> Sequence[str | Sequence[int]]:
        """The prompts one by one, each a text or token ids."""
        if isinstance(self.prompt, str) or isinstance(self.prompt[0], int):
            return [self.prompt]  # type: ignore[list-item]
        return self.prompt  # type: ignore[return-value]

    @property
    def choice_count(self) -> int:
        """How many choices a whole answer has."""
        return len(self.prompts) * (self.n or 1)

    @property
    def include_usage(self) -> bool:
        """Whether the caller of a stream asked for the usage chunk."""
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
