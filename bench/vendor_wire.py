"""The bench vendor's prepared responses in OpenAI's format, for text completions and chat.

Each chunk's text contains its number and the time of sending, so that any client on this host can
compute its lag. No I/O.
"""

import json
import random
import re
import string
import time
from dataclasses import dataclass
from typing import Any

from bench.knobs import StreamShape, UnknownModel, parse_model

TEXT = "The quick brown fox jumps over the lazy dog, and then does so again, only slower."
USAGE = {"prompt_tokens": 9, "completion_tokens": 18, "total_tokens": 27}

#: A chunk's text: its number from 0, and CLOCK_MONOTONIC in ns when it was sent.
MARK = re.compile(rb"#(\d+)@(\d+);")

_MODEL = re.compile(rb'"model"\s*:\s*"([^"\\]*)"')
_STREAM = re.compile(rb'"stream"\s*:\s*true')
_USAGE = re.compile(rb'"include_usage"\s*:\s*true')
_PLAIN = re.compile(rb'"include_obfuscation"\s*:\s*false')

#: Number of different paddings: random texts of a random length, which OpenAI adds to each chunk of
#: a chat unless it is asked not to. No two chunks in a row are alike.
PADS = 251
_PAD_LENGTHS = (1, 16)

_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: complete in `head`, or a stream that starts with `head`."""

    head: bytes
    knobs: StreamShape
    before: bytes = b""
    after: bytes = b""
    end: bytes = b""
    #: Used in turns instead of `after`; if there are none, all chunks end with the same bytes.
    afters: tuple[bytes, ...] = ()

    def chunks(self, first: int, count: int) -> bytes:
        """Return `count` frames with the current time, as one part of a chunked body."""
        now_ns = time.monotonic_ns()
        before, afters = self.before, self.afters or (self.after,)
        several = len(afters)
        marks = [
            b"%b#%d@%d;%b" % (before, at, now_ns, afters[at % several])
            for at in range(first, first + count)
        ]
        frames = b"".join(marks)
        return b"%x\r\n%b\r\n" % (len(frames), frames)


def plan(path: bytes, body: bytes) -> Reply:
    """Return the response to a request for `path` with `body`.

    The body is searched, not parsed: no string in JSON contains an unescaped quote.
    """
    chat = path.endswith(b"/chat/completions")
    model = _MODEL.search(body)
    if not (chat or path.endswith(b"/completions")) or model is None:
        return _error(404, "Only completions with a `model` are served here.")
    name = model[1].decode()
    try:
        knobs = parse_model(name)
    except UnknownModel:
        return _error(404, f"The model {name!r} does not exist.")
    if (knobs.chunks > 0) != (_STREAM.search(body) is not None):
        return _error(400, f"The model {name!r} requires the other value of `stream`.")
    if not knobs.chunks:
        return Reply(_whole(chat, name), knobs)
    is_padded = chat and _PLAIN.search(body) is None
    return _stream(chat, name, knobs, with_usage=_USAGE.search(body) is not None, padded=is_padded)


def refuse() -> bytes:
    """Return the response to a request without a content-length."""
    return _error(411, "The header `content-length` is required.").head


def _whole(chat: bool, model: str) -> bytes:
    content: dict[str, Any] = (
        {"message": {"role": "assistant", "content": TEXT}} if chat else {"text": TEXT}
    )
    choice = {"index": 0, **content, "logprobs": None, "finish_reason": "stop"}
    kind = "chat.completion" if chat else "text_completion"
    return _json(200, {**_common(kind, model), "choices": [choice], "usage": USAGE})


def _stream(chat: bool, model: str, knobs: StreamShape, *, with_usage: bool, padded: bool) -> Reply:
    kind = "chat.completion.chunk" if chat else "text_completion"
    padding = "x" * knobs.padding_bytes
    common = _common(kind, model) | ({"usage": None} if with_usage else {})

    def frame(**changes: Any) -> bytes:
        text: dict[str, Any] = {"delta": {"content": padding}} if chat else {"text": padding}
        if changes.get("finish_reason"):
            text = {"delta": {}} if chat else {"text": ""}
        choice = {"index": 0, **text, "logprobs": None, "finish_reason": None, **changes}
        return _event({**common, "choices": [choice]})

    before, after = frame().split(f'"{padding}"'.encode())
    end = frame(finish_reason="stop")
    if with_usage:
        usage = {**USAGE, "completion_tokens": knobs.chunks, "total_tokens": 9 + knobs.chunks}
        end += _event({**common, "choices": [], "usage": usage})
    end += b"data: [DONE]\n\n"
    after = padding.encode() + b'"' + after
    return Reply(
        _STREAM_HEAD,
        knobs,
        before + b'"',
        after,
        b"%x\r\n%b\r\n0\r\n\r\n" % (len(end), end),
        _padded(after) if padded else (),
    )


def _padded(after: bytes) -> tuple[bytes, ...]:
    """Return ends of chunks that differ in their padding; the same ones in each run."""
    dice = random.Random(0)  # noqa: S311 - repeatable
    head, end = after[: -len(_OBJECT_END)], after[-len(_OBJECT_END) :]
    if end != _OBJECT_END:
        raise RuntimeError("a chunk does not end as an object")
    pads = (
        "".join(dice.choices(string.ascii_letters + string.digits, k=dice.randint(*_PAD_LENGTHS)))
        for _ in range(PADS)
    )
    return tuple(b'%b,"obfuscation":"%b"%b' % (head, pad.encode(), end) for pad in pads)


_OBJECT_END = b"}\n\n"


def _common(kind: str, model: str) -> dict[str, Any]:
    return {"id": "cmpl-bench", "object": kind, "created": 1_788_220_800, "model": model}


def _event(content: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(content, separators=(",", ":")).encode() + b"\n\n"


def _error(status: int, message: str) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Reply(_json(status, {"error": error}), StreamShape())


def _json(status: int, content: dict[str, Any]) -> bytes:
    body = json.dumps(content).encode()
    reason = "OK" if status == 200 else "Refused"
    head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
