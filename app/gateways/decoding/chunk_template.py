"""A fast path for stream chunks that differ only in their text. No I/O.

Once a chunk has been parsed, the rest are matched byte by byte: 3.5 instead of 9 microseconds for
a chunk of OpenAI's chat. Its random padding, `obfuscation`, may differ, too.
"""

import re
from collections.abc import Mapping
from typing import Any

from app.vocabulary.completion import Choice, Completion

#: How many chunks are learned from before a stream counts as one whose chunks differ.
LEARN_LIMIT = 3

_LITERAL = re.compile(rb'[ \t]*"([^"\\\x00-\x1f]*)"')


class ChunkTemplate:
    """One chunk of a stream, in which the text and the padding may vary.

    `text_key` and `padding_key` are the names of their fields as in JSON, e.g. `"text":`.
    """

    def __init__(self, text_key: bytes, padding_key: bytes) -> None:
        self._text_key = text_key
        self._padding_key = padding_key
        self._before = self._after = b""
        self._middle: bytes | None = None  # between text and padding, if there is padding
        self._example: Completion | None = None
        self._index = 0
        self._extra: Mapping[str, Any] | None = None
        self._lessons = LEARN_LIMIT

    def learn(self, data: bytes, chunk: Completion) -> None:
        """Take a parsed chunk as the template, if it holds one text and nothing else."""
        if not self._lessons or chunk.usage is not None or len(chunk.choices) != 1:
            return
        (choice,) = chunk.choices
        if not choice.text or choice.finish_reason is not None or choice.logprobs is not None:
            return
        if choice.reply is not None:
            return
        # In a string, the key's quotes would be escaped: this is the name of a field.
        literal = _LITERAL.match(data, data.find(self._text_key) + len(self._text_key))
        text = choice.text.encode("utf-8", "surrogatepass")
        if data.count(self._text_key) != 1 or not literal or literal[1] != text:
            return
        self._lessons -= 1
        self._before, rest = data[: literal.start(1)], data[literal.end(1) :]
        self._middle, self._after = self._split(rest, choice)
        self._example, self._index, self._extra = chunk, choice.index, choice.extra

    def read(self, data: bytes) -> Completion | None:
        """Return the chunk in `data`; None if it must be parsed."""
        example, before = self._example, self._before
        if example is None or not data.startswith(before):
            return None
        plain = self._varying(data, len(before))
        if plain is None:
            return None
        try:
            text = plain.decode()
        except UnicodeDecodeError:
            return None
        if not text.isprintable():  # JSON forbids control characters, and others are rare
            return None
        index, extra = self._index, self._extra
        return Completion(
            example.id,
            example.created,
            example.model,
            (Choice(index, text, None, None, None, extra) if extra else Choice(index, text),),
            None,
            example.system_fingerprint,
            example.service_tier,
            example.extra,
        )

    def forget(self) -> None:
        """Parse the next chunk: the same bytes may now belong to another choice."""
        self._example = None

    def _split(self, rest: bytes, choice: Choice) -> tuple[bytes | None, bytes]:
        """Return what stands between text and padding, and after it; None without padding."""
        at = rest.find(self._padding_key)
        literal = _LITERAL.match(rest, at + len(self._padding_key)) if at >= 0 else None
        if literal is None or choice.extra:  # the padding may be part of the choice's extra
            return None, rest
        return rest[: literal.start(1)], rest[literal.end(1) :]

    def _varying(self, data: bytes, start: int) -> bytes | None:
        """Return the text of a chunk, as in JSON, if all but text and padding is the template's."""
        after, middle = self._after, self._middle
        if not data.endswith(after):
            return None
        end = len(data) - len(after)
        if middle is not None:
            text_end = data.find(b'"', start)
            if not data.startswith(middle, text_end):
                return None
            padding = data[text_end + len(middle) : end]
            if not padding.isalnum():
                return None
            end = text_end
        plain = data[start:end]
        return None if not plain or b'"' in plain or b"\\" in plain else plain
