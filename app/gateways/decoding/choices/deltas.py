"""The choices of one response, assembled from the vendor's deltas: one text and one end each.

Does not depend on frames or usage. A choice's end is held back until no text can follow it: some
vendors send a finish reason beside each delta.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

from app.gateways.decoding.choices.numbering import Numbering
from app.gateways.decoding.choices.replies import Replies
from app.gateways.decoding.choices.slots import UNNUMBERED, Slots, placed
from app.gateways.decoding.choices.texts import TextJoiner, sanitized
from app.vocabulary.completion import Choice, Ending


class Choices:
    """The state of `prompts * n` choices.

    open    slots of which anything has come
    ends    slot -> its end; "error" if the vendor reported a failure
    sent    slots of which the caller has got text
    surplus  number of choices that were not requested, or cannot be placed
    is_open_ended  whether text has followed an end, so that ends are unreliable
    unnamed  what the end of a choice is that the vendor names no reason for
    """

    def __init__(self, prompts: int, n: int) -> None:
        self._prompts, self._samples = prompts, n
        self.count = prompts * n
        self.open: set[int] = set()
        self.ends: dict[int, Choice] = {}
        self.sent: set[int] = set()
        self.surplus = 0
        self.is_open_ended = False
        self.unnamed: Ending = "stop"
        self._numbering = Numbering(prompts, n) if prompts > 1 else None
        self._joiners: dict[int, TextJoiner] = {}
        self._plain: set[int] = set()  # slots with text without an end
        self._closed: set[int] = set()  # slots with an end after such text
        self._halves: set[int] = set()  # slots in which half a character waits for its other half

    @property
    def holds(self) -> bool:
        """Whether half a character waits for its other half."""
        return bool(self._halves)

    @cached_property
    def _replies(self) -> Replies:
        return Replies()

    @cached_property
    def _slots(self) -> Slots:
        return Slots(self._prompts, self._samples)

    @property
    def has_text(self) -> bool:
        """Whether the vendor has sent any text, including text that is still held back."""
        return bool(self.sent) or (self._numbering is not None and self._numbering.holds_text)

    @property
    def missing(self) -> list[int]:
        """The slots of which nothing has come, or that have failed."""
        return [slot for slot in range(self.count) if slot not in self.open]

    def take(self, choices: tuple[Choice, ...]) -> tuple[list[Choice], list[int]]:
        """Add deltas; return those for the caller, and the slots of the deltas added.

        The caller may also get deltas that were held back before.
        """
        passed: list[Choice] = []
        slots: list[int] = []
        before = 0
        if self._numbering is not None:
            sure = self._numbering.sure(tuple(self._numbered(choices)))
            if not sure:  # a usage beside them is theirs, whichever their slots are
                return passed, [choice.index for choice in choices]
            before = len(sure) - len(choices)
            choices = sure
        for at, (choice, slot) in enumerate(self._placed(choices)):
            if slot is None:
                self.surplus += 1
                continue
            if at >= before:
                slots.append(slot)
            delta = self._delta(slot, choice)
            if delta is not None:
                passed.append(delta)
        return passed, slots

    def release(self) -> list[Choice]:
        """Return the deltas held back, at the end of the response, if they can be placed."""
        held = () if self._numbering is None else self._numbering.held_at_end()
        self._numbering = None
        return self.take(held)[0] if held else []

    def take_whole(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        """Add whole choices; return those that have not failed, in the order of their slots."""
        if self.count == len(choices) == 1 and choices[0].finish_reason != "error":
            self.open.add(0)
            self.ends[0] = choices[0]
            return (self._finished(0, choices[0]),)
        slots = placed([choice.index for choice in choices], self._prompts, self._samples)
        kept = {s: c for s, c in zip(slots, choices, strict=True) if s is not None}
        self.surplus += len(choices) - len(kept)
        self.open.update(kept)
        self.ends.update(kept)
        good = [slot for slot in sorted(kept) if kept[slot].finish_reason != "error"]
        return tuple([self._finished(slot, kept[slot]) for slot in good])

    def finish(self) -> None:
        """End the choices that have begun and have no end: the response is complete."""
        for slot in self.open - self.ends.keys():
            self.ends[slot] = Choice(slot, "", self.unnamed)

    def close_calls(self) -> list[Choice]:
        """Return the pieces of tool calls that were held back, at the end of the response."""
        return self._replies.close(self.ends)

    def drop_failed(self) -> Choice | None:
        """Remove the choices that have failed, so that they count as missing.

        Returns one of them if the response has failed with it: no choice is left, or the caller
        has got some of its text.
        """
        slots = [slot for slot, end in self.ends.items() if end.finish_reason == "error"]
        failed = [self.ends.pop(slot) for slot in slots]
        self.open.difference_update(slots)
        is_lost = failed and (not self.open or not self.sent.isdisjoint(slots))
        return failed[0] if is_lost else None

    def tail(self) -> tuple[Choice, ...]:
        """Return the ends, with the half characters that were held back."""
        ends = [self._true(self.ends[slot]) for slot in sorted(self.ends)]
        if not self._joiners:
            return tuple(ends)
        return tuple(
            end._replace(text=self._joiners[end.index].flush())
            if end.index in self._joiners
            else end
            for end in ends
        )

    def _placed(self, choices: tuple[Choice, ...]) -> Iterator[tuple[Choice, int | None]]:
        """Yield deltas with their slots; two ends in one list belong to two choices."""
        if len(choices) == 1:
            yield choices[0], self._slot(choices[0])
            return
        numbered = list(self._numbered(choices))
        ends = Counter(c.index for c in numbered if c.finish_reason is not None)
        for choice in numbered:
            if ends[choice.index] < 2:
                yield choice, self._slot(choice)
            else:  # with several prompts, they cannot be placed
                yield choice, self._slots.again(choice.index)

    def _numbered(self, choices: tuple[Choice, ...]) -> Iterable[Choice]:
        """Number choices without an index by their places, if all are in the list."""
        if not choices or choices[0].index != UNNUMBERED or len(choices) != self.count:
            return choices
        return [choice._replace(index=at) for at, choice in enumerate(choices)]

    def _slot(self, choice: Choice) -> int | None:
        index = choice.index
        if index == UNNUMBERED and self.count > 1:
            return None
        slot = self._slots.of(index)
        # Text after an end belongs to the same choice if there is no other, or if the vendor sends
        # an end beside each delta.
        if slot not in self._closed or self.count == 1 or not choice.text:
            return slot
        return self._slots.again(index)

    def _delta(self, slot: int, choice: Choice) -> Choice | None:
        text = choice.text
        self.open.add(slot)
        if self._halves or not text.isascii():
            text = self._joined(slot, text)
        if text and slot in self.ends:
            self.is_open_ended = True
        if choice.finish_reason is not None:
            self._end(slot, choice)
        elif text and slot not in self.ends:
            self._plain.add(slot)
        if text:
            self.sent.add(slot)
        reply = None if choice.reply is None else self._replies.take(slot, choice.reply)
        if reply is not None:
            self.sent.add(slot)
        elif not text and choice.logprobs is None and not choice.extra:
            return None
        if (
            text is choice.text
            and slot == choice.index
            and choice.finish_reason is None
            and choice.reply is None
        ):
            return choice
        return Choice(slot, text, None, choice.logprobs, None, choice.extra, reply)

    def _finished(self, slot: int, choice: Choice) -> Choice:
        """Return a whole choice, put right."""
        text, reply = sanitized(choice.text), choice.reply
        reason = choice.finish_reason or self.unnamed
        if reply is not None:
            reply = self._replies.take_whole(slot, reply)
        if reason not in ("length", "content_filter") and (reply is not None or reason != "stop"):
            reason = self._replies.ending(slot, reason)
        if (
            slot == choice.index
            and text is choice.text
            and reason == choice.finish_reason
            and reply is choice.reply
        ):
            return choice
        return choice._replace(index=slot, text=text, finish_reason=reason, reply=reply)

    def _true(self, end: Choice) -> Choice:
        """Return an end that tells whether its choice has called tools."""
        reason = self._replies.ending(end.index, end.finish_reason or "stop")
        return end if reason == end.finish_reason else end._replace(finish_reason=reason)

    def _joined(self, slot: int, text: str) -> str:
        joiner = self._joiners.get(slot) or self._joiners.setdefault(slot, TextJoiner())
        joined = joiner.feed(text)
        (self._halves.add if joiner.held else self._halves.discard)(slot)
        return joined

    def _end(self, slot: int, choice: Choice) -> None:
        if slot in self._plain:
            self._closed.add(slot)
        before = self.ends.get(slot)
        if before is None or before.finish_reason != "error":  # a failure is final
            reason, native = choice.finish_reason or "stop", choice.native_finish_reason
            self.ends[slot] = Choice(slot, "", reason, None, native)
