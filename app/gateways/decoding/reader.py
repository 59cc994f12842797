"""The reader of a vendor's answer, which all wires share: what is whole, what counts, and when.

A wire (`Wire`) says what a frame means; this decides. Usage first, then judgement: whatever
becomes of an answer, a count in it is passed on. The wire's end mark ends the answer, and so do
every choice's end and the usage together, when nothing follows; until then, reading goes on.
One text a choice, one reason a choice, after its last text.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from app.formats import strict_json as json_wire
from app.formats.sse import ServerSentEvent
from app.gateways.decoding.choices.deltas import Choices
from app.gateways.decoding.chunk_template import ChunkTemplate
from app.gateways.decoding.counts import RunningUsage
from app.gateways.decoding.framing import Framing, TextFraming, values_in
from app.gateways.decoding.parsing import failed
from app.gateways.decoding.wire import Wire
from app.vocabulary.completion import Completion, Usage
from app.vocabulary.errors import GatewayError

#: The most that an answer may hold that is not passed on as it comes, in bytes.
ANSWER_LIMIT = 64 * 1024 * 1024

#: The end of most streams, in the words that follow it, too.
DONE = b"[DONE]"


class AnswerReader:
    """Reads one answer: `feed` it packets, then `close` it; both yield chunks.

    `missing` are the choices of which nothing has come when an answer has ended as it should.
    """

    def __init__(self, wire: Wire, framing: Framing | None = None) -> None:
        request = wire.request
        prompts, samples = len(request.prompts), request.n or 1
        self._wire = wire
        self._vendor = wire.vendor
        self._framing = framing or TextFraming(wire.vendor)
        #: How many choices the answer is to have.
        self.count = prompts * samples
        self._choices = Choices(prompts, samples)
        self._usage = RunningUsage(self.count if wire.counts_choices else 1, samples)
        self._usual = ChunkTemplate(wire.text_key) if wire.text_key and request.stream else None
        self._last: Completion | None = None
        self._total: Usage | None = None
        self._failure: GatewayError | None = None
        self._json: Any = None
        self._is_streamed, self._size = request.stream, 0
        self._is_over = self._is_whole = self._has_count = False

    @property
    def is_over(self) -> bool:
        """Whether the vendor has said that this was all, or that it failed."""
        return self._is_over or self._failure is not None

    @property
    def has_ended(self) -> bool:
        """Whether every choice has its end."""
        return len(self._choices.ends) >= self.count

    @property
    def is_whole(self) -> bool:
        """Whether nothing more is needed, though more may come."""
        if self._is_over or self._failure is not None:
            return True
        if self._framing.is_json:
            return self._is_json_whole()
        return self._has_count and self.has_ended and not self._choices.is_open_ended

    @property
    def missing(self) -> list[int]:
        """The choices of which nothing has come."""
        return self._choices.missing

    @property
    def surplus(self) -> int:
        """How many choices were not asked for, or cannot be placed."""
        return self._choices.surplus

    def feed(self, packet: bytes) -> Iterator[Completion]:
        """Yield the chunks that `packet` completes; what is wrong with it is for `close` to say."""
        usual = self._usual
        self._size += len(packet)
        if self._size > ANSWER_LIMIT and (self._framing.is_json or not self._is_streamed):
            self._fail(failed(self._vendor, "sent too large an answer"))
            return
        try:
            for frame in self._framing.feed(packet):
                if usual is not None and frame.name is None and not self._choices.holds:
                    chunk = usual.read(frame.data)
                    if chunk is not None:
                        yield chunk
                        continue
                yield from self._frame(frame)
        except GatewayError as exc:
            self._fail(exc)

    def close(self, broken: GatewayError | None = None) -> Iterator[Completion]:
        """Yield what the end of the answer completes; `broken` is how its connection ended.

        Raises: GatewayError when the vendor reported one, or the answer is not whole.
        """
        try:
            if self._json is not None:
                yield from self._values(None, b"")
            else:
                for frame in self._framing.flush():
                    yield from self._frame(frame)
        except GatewayError as exc:  # no frame: the answer may be whole without it
            broken = broken or exc
        if self._last is not None and (released := self._choices.release()):
            yield replace(self._last, choices=tuple(released), usage=None)
        self._settle(broken)
        if not self._is_whole and (tail := self._tail()) is not None:
            yield tail
        if self._failure is not None:
            raise self._failure

    def usage_in(self, body: bytes) -> Usage | None:
        """Return the usage in the body of a response that is no answer."""
        try:
            payloads = self._payloads(None, body)
        except GatewayError:
            return None
        return next(filter(None, map(self._wire.usage, payloads)), None)

    # What a frame says

    def _frame(self, frame: ServerSentEvent) -> Iterator[Completion]:
        data, done = _without_mark(frame.data)
        if data and frame.name == "error" and not self.is_over:
            self._fail(self._wire.reported(data))
            yield from self._counted(frame.name, data)
        elif data and self.is_over:
            yield from self._counted(frame.name, data)
        elif data or (frame.name and not done):
            yield from self._values(frame.name, data)
        if done or self._wire.is_over:
            self._end()

    def _values(self, name: str | None, data: bytes) -> Iterator[Completion]:
        payloads = self._payloads(name, data)
        if self._framing.is_json and len(payloads) == 1 and not isinstance(payloads[0], list):
            yield from self._whole(payloads[0])
            return
        for payload in _flat(payloads):
            yield from self._event(payload, data)
        if self._framing.is_json:
            self._end()

    def _payloads(self, name: str | None, data: bytes) -> list[Any]:
        values = [self._json] if self._json is not None else values_in(self._vendor, data)
        return [payload for value in values for payload in self._wire.unwrap(name, value)]

    def _counted(self, name: str | None, data: bytes) -> Iterator[Completion]:
        """Yield the usage alone of what comes after the end."""
        try:
            payloads = self._payloads(name, data)
        except GatewayError:
            return  # it is over: nobody waits for what this was to be
        for payload in payloads:
            yield from self._usage_alone(payload)

    def _usage_alone(self, payload: Any) -> Iterator[Completion]:
        usage = self._wire.usage(payload)
        if usage is not None:
            put = self._put(usage, ())
            yield Completion("", 0, self._wire.request.model_name, (), put)

    def _event(self, payload: Any, data: bytes) -> Iterator[Completion]:
        if payload is None:  # null says nothing, but that there is somebody
            return
        try:
            chunk = self._wire.read(payload)
        except GatewayError as exc:
            self._fail(exc)
            yield from self._usage_alone(payload)
            return
        placed = self._placed(chunk) if chunk is not None else None
        if placed is not None:
            if self._usual is not None and placed is chunk:
                self._usual.learn(data, placed)
            yield placed

    def _placed(self, chunk: Completion) -> Completion | None:
        """Return a chunk with its choices in their slots and without their ends; None for nothing.

        A chunk that holds nothing for the caller still shows that the vendor is at work.
        """
        choices, usage = chunk.choices, chunk.usage
        told, slots = self._choices.take(choices)
        self._last = chunk
        if usage is None and len(told) == len(choices) == 1 and told[0] is choices[0]:
            return chunk
        at_end = any(choice.finish_reason is not None for choice in choices)
        if at_end and self._usual is not None and self.count > 1:
            self._usual.forget()  # the same bytes may be of another choice now
        if usage is not None:
            has_text = any(choice.text for choice in choices)
            usage = self._put(usage, slots, has_text=has_text, at_end=at_end)
        elif not told and (at_end or not self._wire.is_alive):
            return None
        return replace(chunk, choices=tuple(told), usage=usage)

    def _put(
        self,
        usage: Usage,
        slots: Sequence[int],
        *,
        has_text: bool = False,
        at_end: bool = False,
    ) -> Usage:
        # What comes beside a text is a running count, of which the last is still to come; what
        # comes with the last end, or after it, is all that there will be.
        is_last = self.has_ended or not (slots or usage.lacks)
        # Nothing is no count of a text.
        is_count = bool(usage.completion_tokens) or not self._choices.sent
        self._has_count = self._has_count or (is_last and is_count)
        self._total = self._usage.put(usage, slots, has_text=has_text, at_end=at_end)
        if self._failure is not None:  # which has cost something after all
            self._failure.billable = True
        return self._total

    def _whole(self, payload: Any) -> Iterator[Completion]:
        """Yield a whole answer."""
        self._is_whole = True
        self._end()
        try:
            answer = self._wire.read_whole(payload)
        except GatewayError as exc:
            self._fail(exc)
            yield from self._usage_alone(payload)
            return
        usage = None if answer.usage is None else self._put(answer.usage, ())
        choices = self._choices.take_whole(answer.choices)
        is_said = choices == answer.choices and usage is answer.usage
        yield answer if is_said else replace(answer, choices=choices, usage=usage)

    def _is_json_whole(self) -> bool:
        """Whether JSON that ends in a bracket is complete; it is read once."""
        self._json = None
        if self._framing.is_closed:
            (frame,) = self._framing.flush()
            with contextlib.suppress(ValueError):
                self._json = json_wire.load_vendor(frame.data)
        return self._json is not None

    # The end

    def _end(self) -> None:
        """Take note of the vendor's end mark: what follows is only looked through for usage."""
        self._is_over, self._usual = True, None

    def _fail(self, error: GatewayError) -> None:
        """Take note of the first failure; one that the vendor reports first has cost nothing."""
        if self._failure is None:
            self._failure, self._usual = error, None
            if self._choices.has_text or self._total is not None:
                error.billable = True

    def _settle(self, broken: GatewayError | None) -> None:
        """Decide whether that was all.

        Without its end mark an answer is whole where every choice that began has ended, and where
        none is missing if the connection broke.
        """
        choices = self._choices
        if not self.is_over:
            unfinished = choices.open - choices.ends.keys()
            has_any = choices.open or self._total is not None
            if not unfinished and has_any and (broken is None or self.has_ended):
                self._end()
            else:
                self._fail(
                    broken or failed(self._vendor, "broke off before the answer was complete")
                )
        if self._failure is None:
            choices.finish()
        if (lost := choices.drop_failed()) is not None:
            self._fail(failed(self._vendor, _why(lost.native_finish_reason)))

    def _tail(self) -> Completion | None:
        """Return the last chunk: the ends of the choices."""
        choices = self._choices.tail()
        if self._last is None or not choices:
            return None
        options = self._wire.request.stream_options or {}
        usage = self._total if options.get("continuous_usage_stats") else None
        return replace(self._last, choices=choices, usage=usage)


def _without_mark(data: bytes) -> tuple[bytes, bool]:
    """Return a frame's data, and whether the end mark stands after it, or alone."""
    data = data.strip()
    before, done, _ = data.partition(DONE)
    if done and (not before or before.endswith(b"\n")):
        return before.rstrip(), True
    return data, False


def _why(word: str | None) -> str:
    return f"ended a choice with the reason {word!r}" if word else "sent a choice without text"


def _flat(payloads: list[Any]) -> Iterator[Any]:
    """Yield the values of lists one by one: a stream may come as one JSON array."""
    for payload in payloads:
        yield from payload if isinstance(payload, list) else (payload,)
