"""Budgets: corrections of the ledger, data that Redis lost, and bounds."""

import pytest

from app.admission.reservations import (
    AFTERWARDS_S,
    FIRST_TIME,
)
from tests.admission.gate import ENDS_S, Gate, budget


def test_a_correction_of_the_ledgers_is_applied_once_and_keeps_what_is_under_way(
    gate: Gate,
) -> None:
    gate.admit("e1", budget(90))
    gate.end("e1", cost_nanousd=90)  # not posted yet
    gate.admit("e2", budget(5))
    assert not gate.admit("e3", budget(6, spent=90))[0]
    down = {"spent": 30, "corrections": 2, "corrected": -60}
    _, (state,) = gate.admit("e3", budget(6, **down))
    assert (state.used, state.reserved) == (30, 11)
    gate.end("e2", cost_nanousd=5)
    _, (state,) = gate.admit("e4", budget(1, **down))
    assert (state.used, state.reserved) == (35, 7)
    # a process that queried the ledger before the correction
    _, (state,) = gate.admit("e5", budget(1, spent=90))
    assert (state.used, state.reserved) == (35, 8)
    up = {"spent": 40, "corrections": 3, "corrected": -50}
    _, (state,) = gate.admit("e6", budget(1, **up))
    assert (state.used, state.reserved) == (45, 9)


def test_a_correction_is_known_also_to_a_budget_that_has_heard_of_none(gate: Gate) -> None:
    gate.redis.hset("limits:x:day", mapping={"spent": 100, "reserved": 7})  # by an older version
    _, (state,) = gate.admit("e1", budget(1, spent=20, corrections=5, corrected=-80))
    assert (state.used, state.reserved) == (20, 8)
    gate.redis.flushall()
    _, (state,) = gate.admit("e2", budget(1, spent=20, corrections=5, corrected=-80))
    assert state.used == 20
    _, (state,) = gate.admit("e3", budget(1, spent=20, corrections=5, corrected=-80))
    assert state.used == 20


def test_a_ledger_that_has_not_answered_changes_nothing(gate: Gate) -> None:
    gate.admit("e1", budget(1, spent=20, corrections=5, corrected=-80))
    _, (state,) = gate.admit("e2", budget(1, corrections=-1))
    assert state.used == 20


def test_a_redis_that_lost_its_data_learns_what_was_spent_from_the_ledger(gate: Gate) -> None:
    _, (state,) = gate.admit("e1", budget(10, spent=60))
    assert (state.used, state.reserved) == (60, 10)
    gate.redis.flushall()
    admitted, (state,) = gate.admit("e2", budget(41, spent=60))
    assert (admitted, state.used, state.reserved) == (False, 60, 0)
    gate.admit("e3", budget(40, spent=60))
    gate.end("e3", cost_nanousd=30)
    assert gate.budget() == {"spent": 90, "reserved": 0}
    _, (state,) = gate.admit("e4", budget(10, spent=60))  # the ledger lags behind
    assert state.used == 90
    assert gate.redis.expiretime("limits:x:day") == ENDS_S + AFTERWARDS_S


def test_an_end_after_redis_forgot_makes_no_budget_that_stays_for_ever(gate: Gate) -> None:
    gate.admit("e1", budget(10))
    gate.redis.delete("limits:x:day")
    gate.end("e1", cost_nanousd=3)
    assert not gate.redis.exists("limits:x:day")


@pytest.mark.parametrize(
    ("spent", "amount", "limit", "fits"),
    [
        (0, 100, 100, True),
        (0, 101, 100, False),
        (99, 0, 100, True),
        (100, 0, 100, False),  # used up, also for what costs nothing that is known
        (0, 0, 0, False),
        (10**18 // 128, 5, -1, True),
    ],
)
def test_a_budget_is_never_exceeded(
    gate: Gate, spent: int, amount: int, limit: int, fits: bool
) -> None:
    admitted, (state,) = gate.admit("e1", budget(amount, limit, spent=spent))
    assert (admitted, state.fits) == (fits, fits)


def test_a_soft_bound_is_reported_each_time_and_marked_the_first(gate: Gate) -> None:
    found = [gate.admit(f"e{n}", budget(10, soft=20))[1][0].soft for n in range(5)]
    assert found == [0, 0, FIRST_TIME, 1, 1]
