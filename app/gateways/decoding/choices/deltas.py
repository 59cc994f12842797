"""The choices of one answer, put together from what a vendor sends of them: one text, one end.

Knows neither frames nor usage. A choice's end waits until no text can follow it, as some vendors
write one beside each piece.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from app.gateways.decoding.choices.numbering import Numbering
from app.gateways.decoding.choices.slots import UNNUMBERED, Slots, placed
from app.gateways.decoding.choices.texts import TextJoiner, mended
from app.vocabulary.completion import Choice


class Choices:
    """What has come of `prompts * n` choices.

    open    slots of which something has come
    ends    slot -> its end; "error" where the vendor says that it failed
    sent    slots of which the caller has a text
    surplus  choices that were not asked for, or that nobody can place
    is_open_ended  whether a text has followed an end, so that no end can be relied on
    """

    def __init__(self, prompts: int, n: int) -> None:
        self._prompts, self._samples = prompts, n
        self.count = prompts * n
        self.open: set[int] = set()
        self.ends: dict[int, Choice] = {}
        self.sent: set[int] = set()
        self.surplus = 0
        self.is_open_ended = False
        self._numbering = Numbering(prompts, n) if prompts > 1 else None
        self._joiners: dict[int, TextJoiner] = {}
        self._plain: set[int] = set()  # those that had a text without an end
        self._closed: set[int] = set()  # those that had their end after such a text
        #: Whether half a character waits for its other half.
        self.holds = False

    @cached_property
    def _slots(self) -> Slots:
        return Slots(self._prompts, self._samples)

    @property
    def has_text(self) -> bool:
        """Whether the vendor has written any text, also one that is still held back."""
        return bool(self.sent) or (self._numbering is not None and self._numbering.holds_text)

    @property
    def missing(self) -> list[int]:
        """The slots of which nothing has come."""
        return [slot for slot in range(self.count) if slot not in self.open]

    def take(self, choices: tuple[Choice, ...]) -> tuple[list[Choice], list[int]]:
        """Take pieces of choices; return what the caller gets now, and the slots of these pieces.

        The caller may also get pieces that came before.
        """
        told: list[Choice] = []
        slots: list[int] = []
        before = 0
        if self._numbering is not None:
            sure = self._numbering.sure(tuple(self._numbered(choices)))
            if not sure:  # what is counted beside them is theirs, whose ever they are
                return told, [choice.index for choice in choices]
            before = len(sure) - len(choices)
            choices = sure
        for at, (choice, slot) in enumerate(self._placed(choices)):
            if slot is None:
                self.surplus += 1
                continue
            if at >= before:
                slots.append(slot)
            piece = self._piece(slot, choice)
            if piece is not None:
                told.append(piece)
        return told, slots

    def release(self) -> list[Choice]:
        """Return what was held back, now that no more comes, if it is known whose it is."""
        held = () if self._numbering is None else self._numbering.held_at_end()
        self._numbering = None
        return self.take(held)[0] if held else []

    def take_whole(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        """Take whole choices; return those that have not failed, in their slots' order."""
        if self.count == len(choices) == 1 and choices[0].finish_reason != "error":
            self.open.add(0)
            self.ends[0] = choices[0]
            return (_finished(0, choices[0]),)
        slots = placed([choice.index for choice in choices], self._prompts, self._samples)
        kept = {s: c for s, c in zip(slots, choices, strict=True) if s is not None}
        self.surplus += len(choices) - len(kept)
        self.open.update(kept)
        self.ends.update(kept)
        good = [slot for slot in sorted(kept) if kept[slot].finish_reason != "error"]
        return tuple([_finished(slot, kept[slot]) for slot in good])

    def finish(self) -> None:
        """End the choices that have begun and have no end: the answer is over."""
        for slot in self.open - self.ends.keys():
            self.ends[slot] = Choice(slot, "", "stop")

    def drop_failed(self) -> Choice | None:
        """Forget the choices that have failed, so that they are missing.

        Returns one of them where the answer has failed with it: where no choice is left, or where
        the caller has a text of it.
        """
        slots = [slot for slot, end in self.ends.items() if end.finish_reason == "error"]
        failed = [self.ends.pop(slot) for slot in slots]
        self.open.difference_update(slots)
        is_lost = failed and (not self.open or not self.sent.isdisjoint(slots))
        return failed[0] if is_lost else None

    def tail(self) -> tuple[Choice, ...]:
        """Return the ends, with the texts that were held back."""
        ends = [self.ends[slot] for slot in sorted(self.ends)]
        if not self._joiners:
            return tuple(ends)
        return tuple(
            replace(end, text=self._joiners[end.index].flush())
            if end.index in self._joiners
            else end
            for end in ends
        )

    def _placed(self, choices: tuple[Choice, ...]) -> Iterator[tuple[Choice, int | None]]:
        """Yield pieces with their slots; two ends in one list are of two choices."""
        if len(choices) == 1:
            yield choices[0], self._slot(choices[0])
            return
        numbered = list(self._numbered(choices))
        ends = Counter(c.index for c in numbered if c.finish_reason is not None)
        for choice in numbered:
            if ends[choice.index] < 2:
                yield choice, self._slot(choice)
            else:  # of several prompts, nobody knows whose they are
                yield choice, self._slots.again(choice.index)

    def _numbered(self, choices: tuple[Choice, ...]) -> Iterable[Choice]:
        """Return choices with numbers, where only their places can tell them apart."""
        if not choices or choices[0].index != UNNUMBERED or len(choices) != self.count:
            return choices
        return [replace(choice, index=at) for at, choice in enumerate(choices)]

    def _slot(self, choice: Choice) -> int | None:
        index = choice.index
        if index == UNNUMBERED and self.count > 1:
            return None
        slot = self._slots.of(index)
        # Text after an end is of the same choice where it can be of no other, or where the vendor
        # has written an end beside each piece.
        if slot not in self._closed or self.count == 1 or not choice.text:
            return slot
        return self._slots.again(index)

    def _piece(self, slot: int, choice: Choice) -> Choice | None:
        text = choice.text
        self.open.add(slot)
        if self.holds or not text.isascii():
            text = self._joined(slot, text)
        if text and slot in self.ends:
            self.is_open_ended = True
        if choice.finish_reason is not None:
            self._end(slot, choice)
        elif text and slot not in self.ends:
            self._plain.add(slot)
        if text:
            self.sent.add(slot)
        elif choice.logprobs is None and not choice.extra:
            return None
        if text is choice.text and slot == choice.index and choice.finish_reason is None:
            return choice
        return Choice(slot, text, None, choice.logprobs, None, choice.extra)

    def _joined(self, slot: int, text: str) -> str:
        joiner = self._joiners.get(slot) or self._joiners.setdefault(slot, TextJoiner())
        joined = joiner.feed(text)
        self.holds = any(joiner.held for joiner in self._joiners.values())
        return joined

    def _end(self, slot: int, choice: Choice) -> None:
        if slot in self._plain:
            self._closed.add(slot)
        before = self.ends.get(slot)
        if before is None or before.finish_reason != "error":  # a failure is not taken back
            reason, native = choice.finish_reason or "stop", choice.native_finish_reason
            self.ends[slot] = Choice(slot, "", reason, None, native)


def _finished(slot: int, choice: Choice) -> Choice:
    text = mended(choice.text)
    if slot == choice.index and choice.finish_reason is not None and text is choice.text:
        return choice
    return replace(choice, index=slot, text=text, finish_reason=choice.finish_reason or "stop")
