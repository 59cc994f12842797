"""Maps the indices of a vendor's choices to slots: the choices of the request. No I/O.

A call requests n samples of each of its prompts; their slots are `prompt * n + sample`. Samples of
one prompt are interchangeable: any distinct numbers will do. With several prompts, only a reliable
index shows the prompt of a text. A choice that cannot be placed is dropped and requested again: a
missing text is better than one under a wrong prompt.
"""

from collections import Counter
from collections.abc import Sequence

#: The index of a choice without one; several choices may have it.
UNNUMBERED = -(2**63)


def placed(indices: Sequence[int], prompts: int, n: int) -> list[int | None]:
    """Return the slot of each choice of a whole response; None: drop it.

    `indices` are the vendor's, in the order of its list.
    """
    count = prompts * n
    if len(indices) == count and _is_in_order(indices, n):
        return list(range(count))
    doubted = {index for index, times in Counter(indices).items() if times > 1}
    if prompts > 1 and n > 1 and len(indices) == prompts and set(indices) == set(range(prompts)):
        doubted.update(range(1, prompts))  # probably the prompts' numbers, with one sample each
    slots = Slots(prompts, n, doubted)
    return [slots.of(index) for index in indices]


def _is_in_order(indices: Sequence[int], n: int) -> bool:
    """Whether the choices are in the order of their slots.

    So they are if their indices are all equal or missing, are consecutive, restart with each
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
    """The slots of one response, assigned as its choices appear.

    `doubted` are indices that stand for several choices.
    """

    def __init__(self, prompts: int, n: int, doubted: set[int] | None = None) -> None:
        self._count = prompts * n
        self._single = prompts == 1
        self._doubted = doubted or set()
        self._given: dict[int, int] = {}
        self._free = set(range(self._count))
        self._least = 0  # no free slot is below it

    def of(self, index: int) -> int | None:
        """Return the slot of the choice `index`; None if there is none, or it is uncertain."""
        slot = self._given.get(index)
        return self._new(index) if slot is None else slot

    def again(self, index: int) -> int | None:
        """Return a slot for another choice with the index of a complete one; None: no slot."""
        self._given.pop(index, None)
        return self._new(index) if self._single else None

    def _new(self, index: int) -> int | None:
        wanted = index in self._free and index not in self._doubted
        if not wanted and not self._single:
            return None
        slot = index if wanted else self._first_free()
        if slot is not None:
            self._free.discard(slot)
            if index not in self._doubted:
                self._given[index] = slot
        return slot

    def _first_free(self) -> int | None:
        if not self._free:
            return None
        while self._least not in self._free:
            self._least += 1
        return self._least
