"""Reads one response of any API format: packets in, chunks out.

Splits packets into frames, and frames into JSON values. A format's `Decoder` turns a value into a
chunk; `Assembly` turns chunks into a response.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from app.formats import strict_json
from app.formats.sse import ServerSentEvent
from app.gateways.decoding.assembly import Assembly
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.framing import Framing, TextFraming, values_in
from app.gateways.decoding.parsing import failed
from app.vocabulary.completion import Completion, Usage
from app.vocabulary.errors import GatewayError

#: Largest response that is not passed on as it arrives, in bytes.
RESPONSE_LIMIT = 64 * 1024 * 1024

#: The end mark of most streams; it may follow a frame's data on a line of its own.
DONE = b"[DONE]"


class ResponseReader:
    """Reads one response: `feed` it packets, then `close` it; both yield chunks."""

    def __init__(self, decoder: Decoder, framing: Framing | None = None) -> None:
        self._decoder = decoder
        self._vendor = decoder.vendor
        self._framing = framing or TextFraming(decoder.vendor)
        self._assembly = Assembly(decoder)
        self._is_streamed, self._size = decoder.request.stream, 0
        self._json: Any = None

    @property
    def count(self) -> int:
        """The number of choices that were requested."""
        return self._assembly.count

    @property
    def is_over(self) -> bool:
        """Whether the vendor has sent its end mark, or failed."""
        return self._assembly.is_over

    @property
    def has_ended(self) -> bool:
        """Whether every choice has ended."""
        return self._assembly.has_ended

    @property
    def is_whole(self) -> bool:
        """Whether the response is complete, though more may come."""
        if self._assembly.is_over:
            return True
        if self._framing.is_json:
            return self._is_json_complete()
        return self._assembly.is_complete

    @property
    def missing(self) -> list[int]:
        """The indices of the choices of which nothing has come, after `close`."""
        return self._assembly.choices.missing

    @property
    def surplus(self) -> int:
        """The number of choices that were not requested, or cannot be placed."""
        return self._assembly.choices.surplus

    def feed(self, packet: bytes) -> Iterator[Completion]:
        """Yield the chunks that `packet` completes. Failures are raised by `close`."""
        assembly = self._assembly
        self._size += len(packet)
        if self._size > RESPONSE_LIMIT and (self._framing.is_json or not self._is_streamed):
            assembly.fail(failed(self._vendor, "sent too large a response"))
            return
        try:
            for frame in self._framing.feed(packet):
                template = assembly.template
                if template is not None and frame.name is None and not assembly.choices.holds:
                    chunk = template.read(frame.data)
                    if chunk is not None:
                        yield chunk
                        continue
                yield from self._frame(frame)
        except GatewayError as exc:
            assembly.fail(exc)

    def close(self, broken: GatewayError | None = None) -> Iterator[Completion]:
        """Yield the last chunks; `broken` is the error with which the connection ended, if any.

        Raises: GatewayError if the vendor reported an error, or the response is incomplete.
        """
        try:
            if self._json is not None:
                yield from self._values(None, b"")
            else:
                for frame in self._framing.flush():
                    yield from self._frame(frame)
        except GatewayError as exc:  # an invalid last frame: the response may be complete before it
            broken = broken or exc
        yield from self._assembly.finish(broken)

    def usage_in(self, body: bytes) -> Usage | None:
        """Return the usage in the body of an error response, if any."""
        try:
            payloads = self._payloads(None, body)
        except GatewayError:
            return None
        return next(filter(None, map(self._decoder.usage, payloads)), None)

    def _frame(self, frame: ServerSentEvent) -> Iterator[Completion]:
        assembly = self._assembly
        data, done = _without_mark(frame.data)
        if data and frame.name == "error" and not assembly.is_over:
            assembly.fail(self._decoder.reported(data))
            yield from self._only_usage(frame.name, data)
        elif data and assembly.is_over:
            yield from self._only_usage(frame.name, data)
        elif data or (frame.name and not done):
            yield from self._values(frame.name, data)
        if done or self._decoder.is_over:
            assembly.end()

    def _values(self, name: str | None, data: bytes) -> Iterator[Completion]:
        payloads = self._payloads(name, data)
        if self._framing.is_json and len(payloads) == 1 and not isinstance(payloads[0], list):
            yield from self._whole(payloads[0])
            return
        for payload in _flat(payloads):
            yield from self._event(payload, data)
        if self._framing.is_json:
            self._assembly.end()

    def _payloads(self, name: str | None, data: bytes) -> list[Any]:
        values = [self._json] if self._json is not None else values_in(self._vendor, data)
        return [payload for value in values for payload in self._decoder.unwrap(name, value)]

    def _event(self, payload: Any, data: bytes) -> Iterator[Completion]:
        if payload is None:  # a null is only a sign of life
            return
        assembly = self._assembly
        try:
            chunk = self._decoder.read(payload)
        except GatewayError as exc:
            assembly.fail(exc)
            yield from self._usage_alone(payload)
            return
        placed = assembly.place(chunk) if chunk is not None else None
        if placed is not None:
            if assembly.template is not None and placed is chunk:
                assembly.template.learn(data, placed)
            yield placed

    def _whole(self, payload: Any) -> Iterator[Completion]:
        assembly = self._assembly
        assembly.is_whole = True
        assembly.end()
        try:
            completion = self._decoder.read_whole(payload)
        except GatewayError as exc:
            assembly.fail(exc)
            yield from self._usage_alone(payload)
            return
        yield assembly.place_whole(completion)

    def _only_usage(self, name: str | None, data: bytes) -> Iterator[Completion]:
        """Yield only the usage of a frame that comes after the end or a failure."""
        try:
            payloads = self._payloads(name, data)
        except GatewayError:
            return
        for payload in payloads:
            yield from self._usage_alone(payload)

    def _usage_alone(self, payload: Any) -> Iterator[Completion]:
        usage = self._decoder.usage(payload)
        if usage is not None:
            total = self._assembly.put_usage(usage)
            yield Completion("", 0, self._decoder.request.model_name, (), total)

    def _is_json_complete(self) -> bool:
        """Whether JSON that ends in a bracket is complete; if so, it is parsed only once."""
        self._json = None
        if self._framing.is_closed:
            (frame,) = self._framing.flush()
            with contextlib.suppress(ValueError):
                self._json = strict_json.load_vendor(frame.data)
        return self._json is not None


def _without_mark(data: bytes) -> tuple[bytes, bool]:
    """Return a frame's data without the end mark, and whether it had one."""
    data = data.strip()
    before, done, _ = data.partition(DONE)
    if done and (not before or before.endswith(b"\n")):
        return before.rstrip(), True
    return data, False


def _flat(payloads: list[Any]) -> Iterator[Any]:
    """Yield payloads, and the items of those that are lists: a stream may be one JSON array."""
    for payload in payloads:
        yield from payload if isinstance(payload, list) else (payload,)
