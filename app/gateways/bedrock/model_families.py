"""The forms in which families of models on Amazon Bedrock take a raw prompt: data, and its types.

Source: Amazon's inference parameters of each family; the chunks that its SDK examples read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.vocabulary.completion import PARAMETERS

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """Where an answer, or one chunk of it, has its parts.

    `counts` are of the tokens read and generated: a number, or a list of the tokens themselves.
    """

    text: Path
    finish: Path
    counts: tuple[Path, Path] | None = None


@dataclass(frozen=True, slots=True)
class PromptFamily:
    """The form in which one family of models takes a prompt and gives text.

    answer   None where a whole answer has its counts in headers alone; it is asked for as a
             stream then, whose last chunk has them
    chunk    None where the family does not stream
    """

    prompt: str
    words: Mapping[str, Path]
    answer: Shape | None
    chunk: Shape | None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    hottest: float = 1

    @property
    def unsupported(self) -> frozenset[str]:
        """The parameters that its form has no word for; `user` goes beside it, in a header."""
        return frozenset(PARAMETERS).difference(self.words, ("n", "user"))


PROMPT_FAMILIES: Mapping[str, PromptFamily] = {
    "cohere": PromptFamily(
        prompt="prompt",
        words={
            "max_tokens": ("max_tokens",),
            "stop": ("stop_sequences",),
            "temperature": ("temperature",),
            "top_p": ("p",),
        },
        answer=None,
        chunk=Shape(text=("text",), finish=("finish_reason",)),
        fixed={"stream": True},  # without it, the stream is one chunk of another shape
        hottest=5,
    ),
    "jurassic": PromptFamily(
        prompt="prompt",
        words={
            "max_tokens": ("maxTokens",),
            "stop": ("stopSequences",),
            "temperature": ("temperature",),
            "top_p": ("topP",),
        },
        answer=Shape(
            text=("completions", 0, "data", "text"),
            finish=("completions", 0, "finishReason", "reason"),
            counts=(("prompt", "tokens"), ("completions", 0, "data", "tokens")),
        ),
        chunk=None,
    ),
    "llama": PromptFamily(
        prompt="prompt",
        words={
            "max_tokens": ("max_gen_len",),
            "temperature": ("temperature",),
            "top_p": ("top_p",),
        },
        answer=Shape(
            text=("generation",),
            finish=("stop_reason",),
            counts=(("prompt_token_count",), ("generation_token_count",)),
        ),
        chunk=Shape(text=("generation",), finish=("stop_reason",)),
    ),
    "mistral": PromptFamily(
        prompt="prompt",
        words={
            "max_tokens": ("max_tokens",),
            "stop": ("stop",),
            "temperature": ("temperature",),
            "top_p": ("top_p",),
        },
        answer=None,
        chunk=Shape(text=("outputs", 0, "text"), finish=("outputs", 0, "stop_reason")),
    ),
    "titan": PromptFamily(
        prompt="inputText",
        words={
            "max_tokens": ("textGenerationConfig", "maxTokenCount"),
            "stop": ("textGenerationConfig", "stopSequences"),
            "temperature": ("textGenerationConfig", "temperature"),
            "top_p": ("textGenerationConfig", "topP"),
        },
        answer=Shape(
            text=("results", 0, "outputText"),
            finish=("results", 0, "completionReason"),
            counts=(("inputTextTokenCount",), ("results", 0, "tokenCount")),
        ),
        chunk=Shape(text=("outputText",), finish=("completionReason",)),
    ),
}
