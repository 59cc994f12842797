"""A request for generated text, whichever endpoint it came to: what serving and metering need."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from app.vocabulary.value_type import value_type

#: The endpoints that call vendors, as usage is reported by.
Endpoint = Literal["completions", "chat.completions"]
ENDPOINTS: tuple[Endpoint, ...] = get_args(Endpoint)
#: The endpoint of usage that was recorded before there was another one.
COMPLETIONS: Endpoint = "completions"


class Input(NamedTuple):
    """What a model reads for one prompt.

    `texts` and `token_ids` are counted; `media_tokens` are those of its images, sounds and files,
    by a stated number for each.
    """

    texts: tuple[str, ...] = ()
    token_ids: Sequence[int] = ()
    media_tokens: int = 0

    @property
    def length(self) -> int:
        """The characters of the texts, and the number of the other tokens."""
        return sum(map(len, self.texts)) + len(self.token_ids) + self.media_tokens


@value_type(kw_only=True)
class GenerationRequest(ABC):
    """A caller's request; None means that the caller did not set the field.

    `model` is `vendor/name`. `extra` holds top-level fields that the public contract does not
    name; OpenAI-compatible vendors get them unchanged.
    """

    endpoint: ClassVar[Endpoint]
    #: What ids of responses begin with.
    id_prefix: ClassVar[str]
    #: Whether the prompt is repeated before the completion.
    echo: bool | None = None
    max_tokens: int | None = None
    model: str
    n: int | None = None
    seed: int | None = None
    stream: bool = False
    stream_options: Mapping[str, Any] | None = None
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
    def include_usage(self) -> bool:
        """Whether the caller requested the usage chunk of a stream."""
        return bool(self.stream_options and self.stream_options.get("include_usage"))

    @property
    def choice_count(self) -> int:
        """The number of choices of a whole response."""
        return self.prompt_count * (self.n or 1)

    @property
    def samples_generated(self) -> int:
        """The number of samples that are generated for each prompt."""
        return self.n or 1

    @property
    def service_tier(self) -> str | None:
        """The tier that the caller asked for, if it is a text."""
        tier = self.extra.get("service_tier")
        return tier if isinstance(tier, str) else None

    @property
    def quotable(self) -> Iterable[str | Sequence[int]]:
        """What an error must not repeat: the caller's texts, and token ids."""
        for it in self.inputs:
            yield from it.texts
            if it.token_ids:
                yield it.token_ids

    @property
    def is_single(self) -> bool:
        """Whether it is one prompt, and not a list."""
        return True

    @property
    def is_blank(self) -> bool:
        """Whether it is one prompt of white space alone, which some vendors do not accept."""
        return False

    @property
    @abstractmethod
    def prompt_count(self) -> int:
        """The number of prompts."""

    @property
    @abstractmethod
    def inputs(self) -> Sequence[Input]:
        """What a model reads, prompt by prompt."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the optional parameters that the caller set, by their public names."""

    @abstractmethod
    def with_n(self, n: int | None) -> Self:
        """Return the same request for another number of samples."""

    @abstractmethod
    def part(self, prompt: int, n: int | None, seed: int | None) -> Self:
        """Return the request for `n` samples of one of its prompts."""
