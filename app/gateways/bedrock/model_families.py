"""The formats in which families of models on Amazon Bedrock accept a raw prompt, as data.

Source: Amazon's inference parameters of each family; the chunks that its SDK examples read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.vocabulary.completion import PARAMETERS

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """The paths of the fields in a response, or in a chunk of it.

    `counts` are those of the tokens read and generated: a number, or a list of tokens to count.
    """

    text: Path
    finish: Path
    counts: tuple[Path, Path] | None = None


@dataclass(frozen=True, slots=True)
class PromptFamily:
    """The format of one family of models.

    prompt    field of the prompt
    paths     parameter -> path of its field
    response  None if whole responses have their counts only in headers: they are requested as
              streams, whose last chunk has the counts
    chunk     None if the family does not stream
    fixed     fields of every streamed request
    hottest   maximum temperature
    """

    prompt: str
    paths: Mapping[str, Path]
    response: Shape | None
    chunk: Shape | None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    hottest: float = 1

    @property
    def unsupported(self) -> frozenset[str]:
        """The parameters without an equivalent; `user` is sent in a header."""
        return frozenset(PARAMETERS).difference(self.paths, ("n", "user"))


PROMPT_FAMILIES: Mapping[str, PromptFamily] = {
    "cohere": PromptFamily(
        prompt="prompt",
        paths={
            "max_tokens": ("max_tokens",),
            "stop": ("stop_sequences",),
            "temperature": ("temperature",),
            "top_p": ("p",),
        },
        response=None,
        chunk=Shape(text=("text",), finish=("finish_reason",)),
        fixed={"stream": True},  # without it, the stream is one chunk of another shape
        hottest=5,
    ),
    "jurassic": PromptFamily(
        prompt="prompt",
        paths={
            "max_tokens": ("maxTokens",),
            "stop": ("stopSequences",),
            "temperature": ("temperature",),
            "top_p": ("topP",),
        },
        response=Shape(
            text=("completions", 0, "data", "text"),
            finish=("completions", 0, "finishReason", "reason"),
            counts=(("prompt", "tokens"), ("completions", 0, "data", "tokens")),
        ),
        chunk=None,
    ),
    "llama": PromptFamily(
        prompt="prompt",
        paths={
            "max_tokens": ("max_gen_len",),
            "temperature": ("temperature",),
            "top_p": ("top_p",),
        },
        response=Shape(
            text=("generation",),
            finish=("stop_reason",),
            counts=(("prompt_token_count",), ("generation_token_count",)),
        ),
        chunk=Shape(text=("generation",), finish=("stop_reason",)),
    ),
    "mistral": PromptFamily(
        prompt="prompt",
        paths={
            "max_tokens": ("max_tokens",),
            "stop": ("stop",),
            "temperature": ("temperature",),
            "top_p": ("top_p",),
        },
        response=None,
        chunk=Shape(text=("outputs", 0, "text"), finish=("outputs", 0, "stop_reason")),
    ),
    "titan": PromptFamily(
        prompt="inputText",
        paths={
            "max_tokens": ("textGenerationConfig", "maxTokenCount"),
            "stop": ("textGenerationConfig", "stopSequences"),
            "temperature": ("textGenerationConfig", "temperature"),
            "top_p": ("textGenerationConfig", "topP"),
        },
        response=Shape(
            text=("results", 0, "outputText"),
            finish=("results", 0, "completionReason"),
            counts=(("inputTextTokenCount",), ("results", 0, "tokenCount")),
        ),
        chunk=Shape(text=("outputText",), finish=("completionReason",)),
    ),
}
