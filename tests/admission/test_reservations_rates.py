"""Rates: what flows back, and limits that change while it does."""

import time
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from app.admission.reservations import (
    DEBT_LIMIT,
    UNITS,
)
from tests.admission.gate import ENDS_S, Gate, requests, tokens


def test_a_rate_flows_back_and_is_forgotten_when_it_is_whole_again(gate: Gate) -> None:
    limit = 10**6
    _, (state,) = gate.admit("e1", tokens(500_000, limit))
    assert state.used == 500_000 * UNITS
    assert 0 < gate.redis.pttl("limits:x:tpm") <= 500_000 * UNITS / limit
    gate.redis.set("limits:x:tpm", f"{500_000 * UNITS} 1000 {limit}")  # in 1970
    _, (state,) = gate.admit("e2", tokens(1, limit))
    assert state.used == UNITS


def test_a_limit_that_is_lowered_counts_from_now(gate: Gate) -> None:
    """Sixty requests under a limit of sixty; under one of two, all of two is used, and no more."""
    for n in range(60):
        assert gate.admit(f"e{n}", requests(60))[0]
    for check in (requests(2), requests(2)):
        admitted, (state,) = gate.admit("more", check)
        assert not admitted
        wait_ms = (state.used + UNITS - 2 * UNITS) / 2
        assert 25_000 <= wait_ms <= 30_000
    # usage is stored until it has flowed back, and has flowed back when the state says so
    _used, at_ms, limit = map(int, gate.redis.get("limits:x:rpm").split())  # type: ignore[union-attr]
    assert limit == 2
    gate.redis.set("limits:x:rpm", f"{2 * UNITS} {at_ms - 25_000} 2")
    assert not gate.admit("early", requests(2))[0]
    gate.redis.set("limits:x:rpm", f"{2 * UNITS} {at_ms - 30_001} 2")
    assert gate.admit("in time", requests(2))[0]


def test_a_limit_that_is_lowered_below_its_usage_lasts_as_long_as_reported(
    gate: Gate,
) -> None:
    """Ten of six hundred flow back in a second; under a limit of five, five are used."""
    for n in range(10):
        gate.admit(f"e{n}", requests(600))
    admitted, (state,) = gate.admit("more", requests(5))
    assert not admitted
    assert 4 * UNITS < state.used <= 5 * UNITS
    assert gate.redis.pttl("limits:x:rpm") > 48_000  # as reported, and not the rest of a second


def test_a_limit_that_is_raised_is_there_at_once(gate: Gate) -> None:
    gate.admit("e1", tokens(10, 10))
    assert not gate.admit("e2", tokens(10, 10))[0]
    admitted, (state,) = gate.admit("e2", tokens(80, 100))
    assert admitted
    assert state.used <= 90 * UNITS
    assert not gate.admit("e3", tokens(30, 100))[0]


def test_a_request_that_spans_a_change_gives_back_what_it_did_not_use(gate: Gate) -> None:
    gate.admit("e1", tokens(5000, 10_000))
    assert not gate.admit("e2", tokens(100, 1000))[0]  # all of the new minute counts as used
    gate.end("e1", tokens=4500)
    assert 400 * UNITS < gate.used() <= 500 * UNITS
    assert gate.admit("e2", tokens(500, 1000))[0]
    gate.end("e2", tokens=5500)
    assert gate.admit("e3", tokens(1, 10_000))[0]  # raised again


def test_two_processes_that_know_different_limits_for_a_while_agree_in_the_end(gate: Gate) -> None:
    for n in range(30):
        gate.admit(f"a{n}", requests(60))
        gate.admit(f"b{n}", requests(2))
    _, (state,) = gate.admit("more", requests(2))
    assert state.used <= 2 * UNITS


def test_a_clock_that_went_back_neither_fills_nor_empties_a_rate(gate: Gate) -> None:
    future_ms = ENDS_S * 1000
    gate.redis.set("limits:x:tpm", f"{500 * UNITS} {future_ms} 1000")
    _, (state,) = gate.admit("e1", tokens(1))
    assert state.used == 501 * UNITS


@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(1, 10**9),
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.booleans()), max_size=20),
)
def test_a_rate_is_whole_numbers_that_only_time_gives_back(
    gate: Gate, limit: int, steps: list[tuple[int, int, bool]]
) -> None:
    """Every figure is exact: what was used before, less what has flown back, and what is added."""
    gate.redis.flushall()
    used, at_ms = 0, 0

    def expected(change: int, when_ms: int) -> int:
        return max(0, used - max(0, when_ms - at_ms) * limit) + change

    for number, (amount, taken, ends) in enumerate(steps):
        before_s = time.monotonic()
        admitted, (state,) = gate.admit(f"e{number}", tokens(amount, limit))
        if not admitted:
            assert state.used + amount * UNITS > limit * UNITS
            continue
        now_used, now_ms = _counted(gate)
        if now_ms:
            assert state.used == now_used == expected(amount * UNITS, now_ms)
        else:  # all of it has flown back by now
            passed_ms = (time.monotonic() - before_s) * 1000 + 1
            assert state.used <= passed_ms * limit
        used, at_ms = now_used, now_ms
        if ends:
            gate.end(f"e{number}", tokens=taken)
            now_used, now_ms = _counted(gate)
            if now_ms:
                left = max(0, expected((taken - amount) * UNITS, now_ms))
                assert now_used == min(left, limit * UNITS * DEBT_LIMIT)
            used, at_ms = now_used, now_ms


def _counted(gate: Gate) -> tuple[int, int]:
    """Return the units used and when, 0 where all is there again."""
    found: Any = gate.redis.get("limits:x:tpm") or b"0 0 0"
    used, at_ms, _limit = found.split()
    return int(used), int(at_ms)
