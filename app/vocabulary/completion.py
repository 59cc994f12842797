"""A completion request; a completion of either endpoint, its choices and its usage.

All values are immutable. The two that each chunk of a stream is made of are named tuples, which are
made three times as fast as frozen dataclasses.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, Self

from app.vocabulary.chat.reply import Reply
from app.vocabulary.request import Endpoint, GenerationRequest, Input
from app.vocabulary.value_type import value_type

Prompt = str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]
FinishReason = Literal["stop", "length", "content_filter", "tool_calls", "function_call"]
#: Why a choice ended, as read from a vendor. "error" is a failure: callers get an error instead.
Ending = FinishReason | Literal["error"]
#: The side of a count that the vendor left out; "both" if it sent only a total.
Lack = Literal["", "prompt", "completion", "both"]


@value_type(kw_only=True)
class Usage:
    """Tokens of one request, and its web searches; all whole and >= 0.

    `prompt_tokens` include `cached_tokens`, `cache_write_tokens`, `audio_prompt_tokens` and
    `image_prompt_tokens`. `completion_tokens` include `reasoning_tokens`,
    `audio_completion_tokens`, `image_completion_tokens` and both prediction counts.
    `cache_write_tokens` include `cache_write_1h_tokens`, which the vendor keeps for an hour.
    `web_search_calls` are no tokens: the searches that the vendor ran and bills one by one.
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
    image_prompt_tokens: int = 0
    image_completion_tokens: int = 0
    cache_write_1h_tokens: int = 0
    web_search_calls: int = 0

    #: The unknown side; see HalfUsage.
    lacks: ClassVar[Lack] = ""

    def __add__(self, other: "Usage") -> "Usage":
        """Sum two requests' usage, count by count."""
        return Usage(**{n: getattr(self, n) + getattr(other, n) for n in USAGE_COUNTS})

    def counts(self) -> dict[str, int]:
        """Return all counts by their names."""
        return dict(zip(USAGE_COUNTS, _counts(self), strict=True))

    def __bool__(self) -> bool:
        """Whether any count is above 0: some vendors send zeros before the real counts."""
        tokens = self.total_tokens or self.prompt_tokens or self.completion_tokens
        return bool(tokens or self.web_search_calls)


USAGE_COUNTS: tuple[str, ...] = tuple(f.name for f in fields(Usage))
_counts = attrgetter(*USAGE_COUNTS)


@value_type(kw_only=True)
class HalfUsage(Usage):
    """A usage with an unknown side, `lacks`, whose counts are 0 here.

    Usage events and callers never get one: the meter estimates the missing side.
    """

    lacks: Lack  # type: ignore[misc]  # a ClassVar there, a field here


class Choice(NamedTuple):
    """One alternative, or one streamed delta of it (`finish_reason` None until the last delta).

    `native_finish_reason` is the vendor's own value, if it is unknown or means a failure. `extra`
    holds the fields of the vendor's choice that the public contract does not name. `reply` is what
    a chat message holds beside its text; None for the usual delta.
    """

    index: int  # type: ignore[assignment]  # nobody looks for a value's place in a choice
    text: str
    finish_reason: Ending | None = None
    logprobs: Mapping[str, Any] | None = None
    native_finish_reason: str | None = None
    extra: Mapping[str, Any] | None = None
    reply: Reply | None = None

    @property
    def generated(self) -> str:
        """The text that the model generated, from which its tokens are estimated."""
        return self.text if self.reply is None else f"{self.reply.generated}{self.text}"


class Completion(NamedTuple):
    """A whole completion, or one chunk of a stream: OpenAI's format has the same shape for both.

    `created` is in Unix seconds. `model` and `service_tier` are as the vendor reports them. `extra`
    holds top-level fields of a chat response that the contract does not name, such as `citations`.
    """

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None
    extra: Mapping[str, Any] | None = None


@value_type(kw_only=True)
class CompletionRequest(GenerationRequest):
    """A caller's request for text completions; None means that the caller did not set the field."""

    endpoint: ClassVar[Endpoint] = "completions"
    id_prefix: ClassVar[str] = "cmpl"
    prompt: Prompt
    best_of: int | None = None
    frequency_penalty: float | None = None
    logit_bias: Mapping[str, float] | None = None
    logprobs: int | None = None
    presence_penalty: float | None = None
    stop: str | Sequence[str] | None = None
    suffix: str | None = None
    temperature: float | None = None
    top_p: float | None = None

    @property
    def prompts(self) -> Sequence[str | Sequence[int]]:
        """The prompts one by one, each a text or token ids."""
        if isinstance(self.prompt, str) or isinstance(self.prompt[0], int):
            return [self.prompt]  # type: ignore[list-item]
        return self.prompt  # type: ignore[return-value]

    @property
    def prompt_count(self) -> int:
        return len(self.prompts)

    @property
    def is_single(self) -> bool:
        return isinstance(self.prompt, str)

    @property
    def is_blank(self) -> bool:
        return isinstance(self.prompt, str) and not self.prompt.strip()

    @property
    def samples_generated(self) -> int:
        return max(self.n or 1, self.best_of or 1)

    @property
    def inputs(self) -> Sequence[Input]:
        """One for each prompt; a suffix is not counted, as before the first vendor call."""
        return [Input((it,)) if isinstance(it, str) else Input((), it) for it in self.prompts]

    def parameters(self) -> dict[str, Any]:
        return {n: v for n in PARAMETERS if (v := getattr(self, n)) is not None}

    @property
    def quotable(self) -> Iterable[str | Sequence[int]]:
        return (*filter(None, [self.suffix]), *self.prompts)

    def with_n(self, n: int | None) -> Self:
        return replace(self, n=n)

    def part(self, prompt: int, n: int | None, seed: int | None) -> Self:
        # The best n of n are all of them, however many calls they take.
        best_of = None if self.best_of == (self.n or 1) else self.best_of
        return replace(self, prompt=self.prompts[prompt], n=n, best_of=best_of, seed=seed)


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
