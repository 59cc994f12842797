"""Slots of time."""

import pytest

from app.ledger.slots import DAY_S, HOUR_S, SLOT_S, floor_to


@pytest.mark.parametrize(
    ("time_s", "width_s", "start_s"),
    [
        (0, SLOT_S, 0),
        (899, SLOT_S, 0),
        (900, SLOT_S, 900),
        (-1, SLOT_S, -900),
        (7_199, HOUR_S, 3_600),
        (DAY_S, DAY_S, DAY_S),
        (2 * DAY_S - 1, DAY_S, DAY_S),
    ],
)
def test_a_slot_contains_its_start_and_not_its_end(time_s: int, width_s: int, start_s: int) -> None:
    assert floor_to(time_s, width_s) == start_s


def test_wider_slots_consist_of_whole_narrower_ones() -> None:
    assert HOUR_S % SLOT_S == DAY_S % HOUR_S == 0
