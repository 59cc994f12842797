"""Vendors' indices as slots of the request: `prompt * n + sample`."""

import pytest

from app.gateways.decoding.choices.slots import UNNUMBERED, Slots, placed


@pytest.mark.parametrize(
    ("indices", "prompts", "n", "slots"),
    [
        ([0, 1, 2, 3], 2, 2, [0, 1, 2, 3]),
        ([3, 2, 1, 0], 2, 2, [3, 2, 1, 0]),
        ([5, 6, 7, 8], 2, 2, [0, 1, 2, 3]),  # consecutive from any number
        ([0, 0, 0, 0], 2, 2, [0, 1, 2, 3]),  # all equal
        ([UNNUMBERED] * 4, 2, 2, [0, 1, 2, 3]),
        ([0, 1, 0, 1], 2, 2, [0, 1, 2, 3]),  # begin again with each prompt
        ([0, 0, 1, 1], 2, 2, [0, 1, 2, 3]),  # the prompts' numbers
        ([0, 1], 2, 2, [0, None]),  # one sample each, or the first prompt's two
        ([0, 1, 1], 2, 2, [0, None, None]),
        ([0, 9], 2, 1, [0, None]),
        ([7, 9], 1, 2, [0, 1]),  # samples of one prompt are interchangeable
        ([1, 1, 1], 1, 2, [0, 1, None]),
        ([1], 1, 3, [1]),
    ],
)
def test_choices_of_a_whole_response_are_placed(
    indices: list[int], prompts: int, n: int, slots: list[int | None]
) -> None:
    assert placed(indices, prompts, n) == slots


def test_an_index_keeps_its_slot() -> None:
    slots = Slots(1, 3)
    assert [slots.of(index) for index in (7, 1, 7, 9, 1, 4)] == [0, 1, 0, 2, 1, None]


def test_after_a_complete_choice_an_index_gets_another_slot_of_a_single_prompt() -> None:
    single, several = Slots(1, 2), Slots(2, 1)
    assert (single.of(0), single.again(0), single.of(0), single.again(0)) == (0, 1, 1, None)
    assert (several.of(0), several.again(0)) == (0, None)


def test_any_number_of_choices_is_placed() -> None:
    """A vendor may send more than were asked for; compared with each other, they take hours."""
    indices = [*range(500_000), 0]
    assert placed(indices, 1, 2) == [0, 1, *[None] * 499_999]


def test_slots_are_given_in_their_order_whatever_the_indices_are() -> None:
    count = 30_000
    slots = Slots(1, count)
    assert slots.of(3) == 3
    given = [slots.of(-1 - at) for at in range(count)]
    assert given == [*(at for at in range(count) if at != 3), None]
