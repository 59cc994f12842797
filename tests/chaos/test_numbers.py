"""The judge of numbers: what is told to be missing must be what the ledger lacks."""

import dataclasses

import pytest

from tests.chaos.numbers import Key, Numbers

ONE, TWO = ("web-1", 1), ("web-1", 2)

#: The ledger has the first of two requests; the other one is lost, for a reason, and told.
LOST = Numbers(
    opened={ONE: ("e1", "t1"), TWO: ("e2", "t2")},
    posted=frozenset({"e1"}),
    told=frozenset({TWO}),
    excused=frozenset({TWO}),
    noted=frozenset({ONE}),
)


def test_what_is_lost_for_a_reason_and_told_is_right() -> None:
    assert not list(LOST.problems())
    assert LOST.lost == {"t2"}
    assert not LOST.unopened


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"told": frozenset()}, "is missing, and not told"),
        ({"told": frozenset({ONE, TWO})}, "is told, and posted"),
        ({"excused": frozenset()}, "is missing, though a copy was left"),
        ({"noted": frozenset({ONE, TWO})}, "is noted as posted, and is not"),
    ],
)
def test_anything_else_is_wrong(change: dict[str, frozenset[Key]], problem: str) -> None:
    (found,) = dataclasses.replace(LOST, **change).problems()  # type: ignore[arg-type]
    assert found.endswith(problem)


def test_a_number_that_no_request_got_is_counted_apart() -> None:
    numbers = dataclasses.replace(LOST, told=frozenset({TWO, ("web-1", 3)}))
    assert not list(numbers.problems())
    assert numbers.unopened == {("web-1", 3)}
