"""What a simulated vendor is to say in chat, block by block, whatever its wire."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.support.vendor import CUT, Reply

Finish = Literal["stop", "length", "content_filter", "tool_calls"]


@dataclass(frozen=True)
class Text:
    """A text."""

    text: str

    def pieces(self) -> list[str]:
        """Return the text as it is streamed: word by word, spaces in front."""
        words = self.text.split(" ")
        return [words[0], *(f" {word}" for word in words[1:])]


@dataclass(frozen=True)
class Thought:
    """What the model thought, which its wire signs; redacted: nobody but the vendor can read it."""

    text: str = "Let me think."
    redacted: bool = False


@dataclass(frozen=True)
class Call:
    """A call of a tool. `arguments` is a text, as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"

    @property
    def input(self) -> Any:
        """The arguments as a value; {} if the model was cut short."""
        try:
            return json.loads(self.arguments)
        except ValueError:
            return {}

    def pieces(self) -> list[str]:
        """Return the arguments as they are streamed, three pieces of them."""
        third = max(1, -(-len(self.arguments) // 3))
        return [self.arguments[at : at + third] for at in range(0, len(self.arguments), third)]


Block = Text | Thought | Call


@dataclass(frozen=True)
class Counts:
    """The tokens that the caller should be told, whatever the vendor's way of counting.

    `prompt` includes `cached`, `written` (into a cache; of these, `written_1h` for an hour) and
    `tool_prompt` (what the vendor's own tools read out); `completion` includes `reasoning`.
    `image_prompt` and `image_completion` are parts of them. `searches` is a count of calls.
    """

    prompt: int = 11
    completion: int = 7
    cached: int = 0
    written: int = 0
    written_1h: int = 0
    reasoning: int = 0
    image_prompt: int = 0
    image_completion: int = 0
    tool_prompt: int = 0
    searches: int = 0

    @property
    def total(self) -> int:
        """All tokens."""
        return self.prompt + self.completion


@dataclass(frozen=True)
class Answer:
    """An answer to give. `breaks` is what happens after the last block instead of an end."""

    blocks: Sequence[Block] = (Text("one two three"),)
    finish: Finish | None = None
    counts: Counts = Counts()
    refusal: str | None = None
    breaks: Literal["error", "hang_up"] | None = None

    @property
    def ending(self) -> Finish:
        """Why it ends: if nothing else is said, for its calls, or because it is done."""
        return self.finish or ("tool_calls" if self.calls else "stop")

    @property
    def calls(self) -> list[Call]:
        """Its calls."""
        return [block for block in self.blocks if isinstance(block, Call)]

    @property
    def text(self) -> str:
        """All its text."""
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def thoughts(self) -> list[Thought]:
        """Its thoughts."""
        return [block for block in self.blocks if isinstance(block, Thought)]

    @property
    def thought(self) -> str:
        """All that it thought and did not redact."""
        return "".join(thought.text for thought in self.thoughts if not thought.redacted)


def signature(*of: str, by: str = "") -> str:
    """Return what only the vendor can make of a text: it knows its own when they come back.

    Those of two vendors differ if `by` does.
    """
    digest = hmac.new(
        b"the vendor's secret", "\0".join((*of, by) if by else of).encode(), hashlib.sha256
    )
    return base64.b64encode(digest.digest()).decode()


def sealed(text: str) -> str:
    """Return a redacted thought, which only the vendor can read."""
    return base64.b64encode(f"{signature(text)}|{text}".encode()).decode()


def is_sealed(data: str) -> bool:
    """Whether a redacted thought is one of the vendor's, unchanged."""
    try:
        signed, _, text = base64.b64decode(data).decode().partition("|")
    except ValueError:
        return False
    return signed == signature(text)


def hung_up(body: Mapping[str, Any]) -> Reply:
    """Return a whole answer of which half arrives."""
    text = json.dumps(body).encode()
    return Reply([text[: len(text) // 2], CUT], 200, {"content-length": str(len(text))}, "close")
