"""One message of a conversation."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from app.vocabulary.chat.parts import Part, TextPart
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.value_type import value_type

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
ROLES: tuple[Role, ...] = ("system", "developer", "user", "assistant", "tool", "function")


@value_type(kw_only=True)
class Message:
    """One message. `parts` is empty if its content is null or missing.

    `tool_call_id` names the call that a tool's message answers; `name` is the caller's name for
    the author (of a `function` message: the function's). `reasoning` is the reasoning text that an
    assistant's message brings back.
    """

    role: Role
    path: str
    source: Mapping[str, Any]
    parts: tuple[Part, ...] = ()
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @property
    def reasoning(self) -> str | None:
        """The reasoning text that came with an assistant's message, or None."""
        for name in ("reasoning_content", "reasoning"):
            if isinstance(text := self.source.get(name), str):
                return text
        return None

    @property
    def text(self) -> str:
        """The text of all its text parts."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def texts(self) -> Iterator[str]:
        """The texts that a model reads."""
        for part in self.parts:
            if isinstance(part, TextPart):
                yield part.text
        for call in self.tool_calls:
            yield call.name or ""
            yield call.arguments
        if reasoning := self.reasoning:
            yield reasoning
