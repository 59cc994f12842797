"""A chat request: messages in, a message out."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Self

from app.vocabulary.chat.message import Message
from app.vocabulary.chat.tools import Tool, ToolChoice
from app.vocabulary.request import Endpoint, GenerationRequest, Input
from app.vocabulary.value_type import value_type


@value_type()
class ResponseFormat:
    """The format of the reply: `text`, `json_object`, `json_schema`, or a vendor's own word.

    `schema`, `name`, `description` and `strict` come with `json_schema`.
    """

    type: str
    schema: Mapping[str, Any] | None = None
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


@value_type(kw_only=True)
class ChatRequest(GenerationRequest):
    """A caller's chat request; None means that the caller did not set the field.

    `tool_choice` and `response_format` are what `options["tool_choice"]` and so on mean. `options`
    holds the contract's optional fields as the caller wrote them, without nulls; `max_tokens`
    there is the one limit, whichever of its two names the caller used. `definitions` are the tools
    and the reply's schema as JSON: models read them, so they count.
    """

    endpoint: ClassVar[Endpoint] = "chat.completions"
    id_prefix: ClassVar[str] = "chatcmpl"
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    response_format: ResponseFormat | None = None
    definitions: str = ""
    stop: str | Sequence[str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def prompt_count(self) -> int:
        return 1

    @property
    def inputs(self) -> Sequence[Input]:
        """The messages' texts, the tools' definitions and the format's schema, as one prompt."""
        texts = [text for message in self.messages for text in message.texts]
        if self.definitions:
            texts.append(self.definitions)
        media = sum(part.media_tokens for message in self.messages for part in message.parts)
        return (Input(tuple(texts), media_tokens=media),)

    @property
    def service_tier(self) -> str | None:
        tier = self.options.get("service_tier")
        return tier if isinstance(tier, str) else None

    def parameters(self) -> dict[str, Any]:
        return dict(self.options)

    def with_n(self, n: int | None) -> Self:
        return self.part(0, n, self.seed)

    def part(self, prompt: int, n: int | None, seed: int | None) -> Self:  # noqa: ARG002 - has one
        options = {**self.options, "n": n, "seed": seed}
        kept = {name: value for name, value in options.items() if value is not None}
        return replace(self, n=n, seed=seed, options=kept)
