"""The reader of a vendor's answer, which all wires share: what is whole, what counts, and when.

A wire (`Wire`) says what a frame means; this decides. Usage first, then judgement: whatever
becomes of an answer, a count in it is passed on. The wire's end mark ends the answer, and so do
every choice's end and the usage together, when nothing follows; until then, reading goes on.
One text a choice, one reason a choice, after its last text.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

from app import wire as json_wire
from app.completion import Choice, Completion, CompletionRequest, Usage
from app.errors import GatewayError
from app.gateways import failures
from app.gateways.answers import failed
from app.gateways.base import Vendor
from app.gateways.counts import RunningUsage
from app.gateways.framing import Framing, TextFraming, values_in
from app.gateways.slots import UNNUMBERED, Slots, placed
from app.gateways.texts import TextJoiner, mended
from app.gateways.usual_chunk import UsualChunk
from app.sse import ServerSentEvent

#: The end of most streams, in the words that follow it, too.
DONE = b"[DONE]"


class Wire(ABC):
    """What the frames of one answer mean on one wire. It judges nothing.

    `is_over` is set when the wire's own end mark has come; `is_alive` says of what was read last
    whether it shows that the model is at work, also where it holds nothing for the caller.
    """

    #: The name of the field that holds a usual chunk's text; b"" where chunks are not alike.
    text_key: ClassVar[bytes] = b""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        self.vendor = vendor
        self.request = request
        self.is_over = False
        self.is_alive = True

    @abstractmethod
    def read(self, payload: Any) -> Completion | None:
        """Return what an event says, its choices with the vendor's indices; None for nothing.

        Raises: GatewayError when it is an error in disguise, or nonsense.
        """

    @abstractmethod
    def read_whole(self, payload: Any) -> Completion:
        """Return what a whole answer says, as `read`."""

    @abstractmethod
    def usage(self, payload: Any) -> Usage | None:
        """Return the usage in a frame, whatever else it holds. Never raises."""

    def reported(self, data: bytes) -> GatewayError:
        """Return the error of an event that is named so, whose words need not be JSON."""
        try:
            said = failures.detail(json_wire.load_vendor(data))
        except ValueError:
            said = failures.Detail(message=data.decode("utf-8", "replace"))
        return failures.failure(self.vendor, None, said)

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:  # noqa: ARG002 - some do
        """Return what is to be read of a frame of this name, given its JSON value.

        Raises: GatewayError.
        """
        return (value,)


class AnswerReader:
    """Reads one answer: `feed` it packets, then `close` it; both yield chunks.

    `missing` are the slots of which nothing has come when an answer has ended as it should.
    """

    def __init__(self, wire: Wire, framing: Framing | None = None) -> None:
        request = wire.request
        self._wire = wire
        self._vendor = wire.vendor
        self._framing = framing or TextFraming(wire.vendor)
        self._prompts, self._samples = len(request.prompts), request.n or 1
        #: How many choices the answer is to have.
        self.count = self._prompts * self._samples
        self._slots = Slots(self._prompts, self._samples)
        self._usage = RunningUsage(self.count, self._samples)
        self._usual = UsualChunk(wire.text_key) if wire.text_key else None
        self._joiners: dict[int, TextJoiner] = {}
        self._holds = False  # half a character of any choice
        self._open: set[int] = set()  # choices of which something has come
        self._plain: set[int] = set()  # those that had a text without an end
        self._closed: set[int] = set()  # those that had their end after such a text
        self._sent: set[int] = set()  # those of which the caller has a text
        self._ends: dict[int, Choice] = {}
        self._last: Completion | None = None
        self._total: Usage | None = None
        self._failure: GatewayError | None = None
        self._is_over = self._is_whole = self._has_usage = self._has_count = False
        self._json: Any = None
        #: Choices that were not asked for, or that nobody can place.
        self.surplus = 0

    @property
    def is_over(self) -> bool:
        """Whether the vendor has said that this was all, or that it failed."""
        return self._is_over or self._failure is not None

    @property
    def has_ended(self) -> bool:
        """Whether every choice has its end."""
        return len(self._ends) >= self.count

    @property
    def is_whole(self) -> bool:
        """Whether nothing more is needed, though more may come."""
        return self.is_over or (self.has_ended and self._has_count) or self._is_json_whole()

    @property
    def missing(self) -> list[int]:
        """The slots of which nothing has come."""
        return [slot for slot in range(self.count) if slot not in self._open]

    def feed(self, packet: bytes) -> Iterator[Completion]:
        """Yield the chunks that `packet` completes; what is wrong with it is for `close` to say."""
        try:
            for frame in self._framing.feed(packet):
                usual = self._read_usual(frame)
                if usual is not None:
                    yield usual
                else:
                    yield from self._frame(frame)
        except GatewayError as exc:
            self._fail(exc)

    def close(self, broken: GatewayError | None = None) -> Iterator[Completion]:
        """Yield what the end of the answer completes; `broken` is how its connection ended.

        Raises: GatewayError when the vendor reported one, or the answer is not whole.
        """
        try:
            for frame in self._framing.flush():
                yield from self._frame(frame)
        except GatewayError as exc:  # no frame: the answer may be whole without it
            broken = broken or exc
        yield from self._ended(broken)
        if self._failure is not None:
            raise self._failure

    # What a frame says

    def _read_usual(self, frame: ServerSentEvent) -> Completion | None:
        if self._usual is None or frame.name or self._holds or self.is_over:
            return None
        return self._usual.read(frame.data)

    def _frame(self, frame: ServerSentEvent) -> Iterator[Completion]:
        data, done, _ = frame.data.strip().partition(DONE)
        if done and data and not data.endswith(b"\n"):  # in a text
            data, done = frame.data.strip(), b""
        if data and frame.name == "error" and not self.is_over:
            self._fail(self._wire.reported(data))
            yield from self._counted(frame.name, data)
        elif data and self.is_over:
            yield from self._counted(frame.name, data)
        elif data or (frame.name and not done):
            yield from self._values(frame.name, data)
        self._is_over = self._is_over or bool(done)

    def _values(self, name: str | None, data: bytes) -> Iterator[Completion]:
        payloads = self._payloads(name, data)
        if not self._framing.is_json:
            for payload in payloads:
                yield from self._event(payload, data)
        elif len(payloads) == 1 and not isinstance(payloads[0], list):
            yield from self._whole(payloads[0])
        else:
            for payload in _flat(payloads):
                yield from self._event(payload, data)
            self._is_over = True
        self._is_over = self._is_over or self._wire.is_over

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

    def _put(self, usage: Usage, slots: Iterable[int], *, at_end: bool = False) -> Usage:
        self._has_usage = True
        # Half a count that comes with the last end, or after it, is all that there will be.
        is_counted = usage.lacks in ("", "prompt") or self.has_ended
        self._has_count = self._has_count or is_counted
        self._total = self._usage.put(usage, slots, at_end=at_end)
        return self._total

    def _event(self, payload: Any, data: bytes) -> Iterator[Completion]:
        if payload is None:  # null says nothing, but that there is somebody
            return
        try:
            chunk = self._wire.read(payload)
        except GatewayError as exc:
            self._fail(exc)
            yield from self._usage_alone(payload)
            return
        placed_chunk = self._placed(chunk) if chunk is not None else None
        if placed_chunk is not None:
            if self._usual is not None and placed_chunk is chunk:
                self._usual.learn(data, placed_chunk)
            yield placed_chunk

    def _placed(self, chunk: Completion) -> Completion | None:
        """Return a chunk with its choices in their slots and without their ends; None for nothing.

        A chunk that holds nothing for the caller still shows that the vendor is at work.
        """
        told: list[Choice] = []
        slots: list[int] = []
        for choice in self._numbered(chunk.choices):
            slot = self._slot(choice)
            if slot is None:
                self.surplus += 1
                continue
            slots.append(slot)
            if (piece := self._piece(slot, choice)) is not None:
                told.append(piece)
        usage = chunk.usage
        if usage is not None:
            at_end = any(choice.finish_reason is not None for choice in chunk.choices)
            usage = self._put(usage, slots, at_end=at_end)
        self._last = chunk
        if not told and usage is None and not self._shows_life(chunk):
            return None
        if usage is None and len(told) == len(chunk.choices) == 1 and told[0] is chunk.choices[0]:
            return chunk
        return replace(chunk, choices=tuple(told), usage=usage)

    def _shows_life(self, chunk: Completion) -> bool:
        """Whether a chunk without anything for the caller says that the model is at work."""
        return self._wire.is_alive and all(c.finish_reason is None for c in chunk.choices)

    def _numbered(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        """Return choices with numbers, where only their places can tell them apart."""
        if not choices or choices[0].index != UNNUMBERED or len(choices) != self.count:
            return choices
        return tuple(replace(choice, index=at) for at, choice in enumerate(choices))

    def _slot(self, choice: Choice) -> int | None:
        if choice.index == UNNUMBERED and self.count > 1:
            return None
        slot = self._slots.of(choice.index)
        before = self._ends.get(slot) if slot is not None else None
        # Text after an end is of the same choice where it can be of no other, or where the vendor
        # has written an end beside each piece.
        if before is None or not choice.text or self.count == 1 or slot not in self._closed:
            return slot
        return self._slots.again(choice.index)

    def _piece(self, slot: int, choice: Choice) -> Choice | None:
        """Return what the caller gets of a piece now; its end waits until no text can follow."""
        self._open.add(slot)
        text = choice.text if choice.text.isascii() else self._joined(slot, choice.text)
        if self._holds and text is choice.text:
            text = self._joined(slot, text)
        if choice.finish_reason is not None:
            self._end(slot, choice)
        elif choice.text and slot not in self._ends:
            self._plain.add(slot)
        if text:
            self._sent.add(slot)
        elif choice.logprobs is None and not choice.extra:
            return None
        if text is choice.text and slot == choice.index and choice.finish_reason is None:
            return choice
        return Choice(slot, text, None, choice.logprobs, None, choice.extra)

    def _joined(self, slot: int, text: str) -> str:
        joiner = self._joiners.get(slot) or self._joiners.setdefault(slot, TextJoiner())
        joined = joiner.feed(text)
        self._holds = any(joiner.held for joiner in self._joiners.values())
        return joined

    def _end(self, slot: int, choice: Choice) -> None:
        if self._usual is not None and self.count > 1:
            self._usual.forget()
        if slot in self._plain:
            self._closed.add(slot)
        before = self._ends.get(slot)
        if before is None or before.finish_reason != "error":  # a failure is not taken back
            reason, native = choice.finish_reason, choice.native_finish_reason
            self._ends[slot] = Choice(slot, "", reason, None, native)

    # The whole

    def _whole(self, payload: Any) -> Iterator[Completion]:
        """Yield a whole answer, its choices in their slots."""
        self._is_over = self._is_whole = True
        try:
            answer = self._wire.read_whole(payload)
        except GatewayError as exc:
            self._fail(exc)
            yield from self._usage_alone(payload)
            return
        usage = None if answer.usage is None else self._put(answer.usage, ())
        slots = placed([choice.index for choice in answer.choices], self._prompts, self._samples)
        choices = []
        for slot, choice in sorted(
            ((s, c) for s, c in zip(slots, answer.choices, strict=True) if s is not None),
            key=lambda pair: pair[0],
        ):
            self._open.add(slot)
            self._end(slot, choice)
            if choice.finish_reason != "error":
                choices.append(_finished(slot, choice))
        self.surplus += len(answer.choices) - len(self._open)
        self._last = answer
        yield replace(answer, choices=tuple(choices), usage=usage)

    def _is_json_whole(self) -> bool:
        """Whether JSON that ends in a bracket is complete; it is read once."""
        if not self._framing.is_closed:
            return False
        (frame,) = self._framing.flush()
        try:
            self._json = json_wire.load_vendor(frame.data)
        except ValueError:
            return False
        return True

    # The end

    def _ended(self, broken: GatewayError | None) -> Iterator[Completion]:
        """Yield the ends of the choices, and settle whether that was all."""
        if self._failure is None and not self._is_over:
            self._judge(broken)
        if self._failure is None and self._is_over:
            for slot in self._open - self._ends.keys():
                self._ends[slot] = Choice(slot, "", "stop")
        self._drop_failed()
        ends = [self._ends[slot] for slot in sorted(self._ends)]
        if not self._is_whole and (tail := self._tail(ends)) is not None:
            yield tail

    def _judge(self, broken: GatewayError | None) -> None:
        """Take an answer without its end mark for whole where every choice that began has ended."""
        unfinished = self._open - self._ends.keys()
        if not unfinished and self._open and (broken is None or self.has_ended):
            self._is_over = True
        else:
            self._fail(broken or failed(self._vendor, "broke off before the answer was complete"))

    def _drop_failed(self) -> None:
        """Leave out the choices that the vendor says have failed, and have them missing.

        The failure is the whole answer's where no choice is left, or where a text of it is out.
        """
        failed_slots = [s for s, end in self._ends.items() if end.finish_reason == "error"]
        words = [self._ends.pop(slot).native_finish_reason for slot in failed_slots]
        self._open.difference_update(failed_slots)
        if failed_slots and (not self._open or not self._sent.isdisjoint(failed_slots)):
            self._fail(failed(self._vendor, _why(words[0])))

    def _tail(self, ends: list[Choice]) -> Completion | None:
        """Return the last chunk: texts that were held back, and the ends."""
        if self._last is None or not ends:
            return None
        choices = [
            replace(end, text=joiner.flush()) if (joiner := self._joiners.get(end.index)) else end
            for end in ends
        ]
        options = self._wire.request.stream_options or {}
        usage = self._total if options.get("continuous_usage_stats") else None
        return replace(self._last, choices=tuple(choices), usage=usage)

    def _fail(self, error: GatewayError) -> None:
        """Take note of the first failure; one that the vendor reports first has cost nothing."""
        if self._failure is None:
            self._failure = error
            if self._sent or self._has_usage:
                error.billable = True


def _finished(slot: int, choice: Choice) -> Choice:
    return replace(
        choice,
        index=slot,
        text=mended(choice.text),
        finish_reason=choice.finish_reason or "stop",
    )


def _why(word: str | None) -> str:
    return f"ended a choice with the reason {word!r}" if word else "sent a choice without text"


def _flat(payloads: list[Any]) -> Iterator[Any]:
    """Yield the values of lists one by one: a stream may come as one JSON array."""
    for payload in payloads:
        yield from payload if isinstance(payload, list) else (payload,)
