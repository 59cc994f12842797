"""Which choice of the request a vendor's choice is: indices, as vendors have them. Pure.

A call asks for n samples of each of its prompts: slot `prompt * n + sample`. Samples of one prompt
are as good as each other, so that any numbers tell them apart; with several prompts, only a
number that can be trusted says to which prompt a text belongs. What cannot be placed is dropped,
and asked for again: a missing text is better than one under a wrong prompt.
"""

from collections.abc import Sequence

#: The index of a choice that has none: it stands for as many choices as have it.
UNNUMBERED = -(2**63)


def placed(indices: Sequence[int], prompts: int, n: int) -> list[int | None]:
    """Return the slot of each choice of a whole answer; None for one that is to be dropped.

    `indices` are the vendor's, in the order of its list.
    """
    count = prompts * n
    if len(indices) == count and _is_in_order(indices, n):
        return list(range(count))
    doubted = {index for index in indices if indices.count(index) > 1}
    if prompts > 1 and n > 1 and len(indices) == prompts and set(indices) == set(range(prompts)):
        doubted.update(range(1, prompts))  # prompts' numbers, it seems, of one sample each
    slots = Slots(prompts, n, doubted)
    return [slots.of(index) for index in indices]


def _is_in_order(indices: Sequence[int], n: int) -> bool:
    """Whether the list's own order is the only thing that the indices can mean.

    So it is where all are the same or missing, count on from any number, begin again with each
    prompt, or are the prompts' numbers.
    """
    first, count = min(indices), len(indices)
    return list(indices) in (
        [first] * count,
        list(range(first, first + count)),
        [first + at % n for at in range(count)],
        [first + at // n for at in range(count)],
    )


class Slots:
    """The slots of one answer, given out as its choices turn up.

    `doubted` are indices that are known to stand for several choices.
    """

    def __init__(self, prompts: int, n: int, doubted: set[int] | None = None) -> None:
        self._count = prompts * n
        self._single = prompts == 1
        self._doubted = doubted or set()
        self._given: dict[int, int] = {}
        self._free = set(range(self._count))

    def of(self, index: int) -> int | None:
        """Return the slot of the choice `index`; None where there is none, or none is sure."""
        slot = self._given.get(index)
        return self._new(index) if slot is None else slot

    def again(self, index: int) -> int | None:
        """Return a slot for another choice under an index whose choice is complete."""
        self._given.pop(index, None)
        return self._new(index) if self._single else None

    def _new(self, index: int) -> int | None:
        wanted = index in self._free and index not in self._doubted
        if not wanted and not self._single:
            return None
        slot = index if wanted else min(self._free, default=None)
        if slot is not None:
            self._free.discard(slot)
            if index not in self._doubted:
                self._given[index] = slot
        return slot
