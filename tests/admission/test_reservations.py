"""The scripts that count limits, on a real Valkey."""

import dataclasses
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from redis import Redis

from app.admission.reservations import (
    AFTERWARDS_S,
    DEBT_LIMIT,
    EXACT,
    FIRST_TIME,
    UNITS,
    Charge,
    Check,
    LimitState,
    Reservations,
)
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import EVENTS, OPEN, RESERVED, STARTED
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from tests.support.events import usage_event

#: The end of a budget's period, in Unix seconds: 2100.
ENDS_S = 4_102_444_800
#: Flows back so slowly that a test sees nothing of it: a unit a millisecond.
SLOW = 1


def requests(limit: int = SLOW) -> Check:
    return Check(kind="requests", key="limits:x:rpm", limit=limit, amount=1)


def tokens(amount: int, limit: int = 1000) -> Check:
    return Check(kind="tokens", key="limits:x:tpm", limit=limit, amount=amount)


def streams(limit: int) -> Check:
    return Check(kind="streams", key="limits:x:streams", limit=limit, amount=1)


def budget(amount: int, limit: int = 100, **changes: Any) -> Check:
    check = Check(kind="budget", key="limits:x:day", limit=limit, amount=amount, ends_s=ENDS_S)
    return dataclasses.replace(check, **changes)


@dataclasses.dataclass
class Gate:
    """The scripts, and what they leave in Redis."""

    redis: "Redis"

    def __post_init__(self) -> None:
        self.reservations = Reservations(GroupCommit(self.redis))
        self.stream = EventStream(self.redis)
        self.records = OpenRecords(self.redis)

    def admit(self, event_id: str, *checks: Check) -> tuple[bool, list[LimitState]]:
        """Ask for admission."""
        return self.reservations.admit(event_id, b"{}", 1, checks)

    def end(self, event_id: str, tokens: int = 0, cost_nanousd: int = 0) -> None:
        """Publish the event of a request that used this."""
        self.stream.publish(usage_event(event_id=event_id), Charge(tokens, cost_nanousd))

    def budget(self, key: str = "limits:x:day") -> dict[str, int]:
        """Return what is counted of a budget."""
        found: Any = self.redis.hgetall(key)
        return {name.decode(): int(number) for name, number in found.items()}

    def used(self) -> int:
        """Return the units of tokens that were used when they were last counted."""
        found: Any = self.redis.get("limits:x:tpm") or b"0 0 0"
        return int(found.split()[0])


@pytest.fixture
def gate(redis_url: str) -> Iterator[Gate]:
    """An empty Redis."""
    with Redis.from_url(redis_url) as redis:
        yield Gate(redis)


def test_a_request_that_fits_opens_its_record_and_reserves(gate: Gate) -> None:
    admitted, states = gate.admit("e1", requests(60), tokens(100), streams(2), budget(7))
    assert admitted
    assert [(it.fits, it.used, it.reserved) for it in states] == [
        (True, UNITS, 0),
        (True, 100 * UNITS, 0),
        (True, 1, 0),
        (True, 0, 7),
    ]
    assert gate.records.all() == {"e1": b"{}"}
    assert gate.redis.zscore(STARTED, "e1") == 1
    assert gate.redis.hexists(RESERVED, "e1")


@pytest.mark.parametrize("at", range(4))
def test_a_request_that_does_not_fit_in_one_limit_takes_nothing_of_any(gate: Gate, at: int) -> None:
    assert gate.admit("e1", requests(), tokens(1000, 1001), streams(1), budget(100))[0]
    before = {key: gate.redis.dump(key) for key in sorted(gate.redis.keys("*"))}
    full = [requests(), tokens(2, 1001), streams(1), budget(1)]
    empty = [
        dataclasses.replace(it, key=f"limits:other:{it.kind}", limit=1000, amount=1) for it in full
    ]
    checks = [full[n] if n == at else empty[n] for n in range(4)]
    admitted, states = gate.admit("e2", *checks)
    assert not admitted
    assert [state.fits for state in states] == [n != at for n in range(4)]
    assert {key: gate.redis.dump(key) for key in sorted(gate.redis.keys("*"))} == before


def test_what_was_reserved_gives_way_to_what_was_used(gate: Gate) -> None:
    gate.admit("e1", tokens(900, SLOW * 1000), streams(1), budget(70))
    gate.end("e1", tokens=100, cost_nanousd=5)
    assert gate.used() <= 100 * UNITS
    assert gate.budget() == {"spent": 5, "reserved": 0}
    assert gate.redis.scard("limits:x:streams") == 0
    assert not gate.redis.exists(RESERVED, OPEN)
    assert gate.redis.xlen(EVENTS) == 1


def test_a_second_event_of_a_request_gives_nothing_back(gate: Gate) -> None:
    gate.admit("e1", budget(70))
    gate.admit("e2", budget(20))
    gate.end("e1", cost_nanousd=5)
    gate.end("e1", cost_nanousd=5)  # replayed from a spool
    assert gate.budget() == {"spent": 5, "reserved": 20}


@pytest.mark.parametrize("how", ["published", "abandoned", "buried", "orphaned"])
def test_a_failed_request_leaves_nothing_reserved_however_it_ends(gate: Gate, how: str) -> None:
    event = usage_event()
    gate.admit(event.event_id, tokens(900), streams(1), budget(70))
    if how == "published":
        gate.end(event.event_id)
    elif how == "abandoned":
        assert gate.records.abandon(event)
    elif how == "buried":
        assert gate.records.dead_letter(event.event_id, b"{}", "nonsense")
    else:  # ended by a version that knows no reservations
        gate.stream.publish(event)
        assert gate.redis.hlen(RESERVED) == 1
        assert [gate.records.release_orphans(), gate.records.release_orphans()] == [1, 0]
    assert gate.used() == 0
    assert gate.budget() == {"spent": 0, "reserved": 0}
    assert gate.redis.scard("limits:x:streams") == 0
    assert gate.redis.hlen(RESERVED) == 0


def test_an_open_request_keeps_what_it_reserved(gate: Gate) -> None:
    gate.admit("e1", budget(70))
    assert gate.records.release_orphans() == 0
    assert gate.budget()["reserved"] == 70


def test_an_abandoned_request_is_charged_with_its_estimate(gate: Gate) -> None:
    event = usage_event()
    gate.admit(event.event_id, budget(70))
    assert gate.records.abandon(event, Charge(5, 9))
    assert not gate.records.abandon(event, Charge(5, 9))
    assert gate.budget() == {"spent": 9, "reserved": 0}


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


def test_a_clock_that_went_back_neither_fills_nor_empties_a_rate(gate: Gate) -> None:
    future_ms = ENDS_S * 1000
    gate.redis.set("limits:x:tpm", f"{500 * UNITS} {future_ms} 1000")
    _, (state,) = gate.admit("e1", tokens(1))
    assert state.used == 501 * UNITS


def test_nonsense_of_a_vendor_does_not_lock_an_account_out_for_good(gate: Gate) -> None:
    gate.admit("e1", tokens(1, 1000), budget(1, 2**52))
    gate.end("e1", tokens=2**62, cost_nanousd=2**70)
    assert gate.used() == 1000 * UNITS * DEBT_LIMIT
    assert gate.budget() == {"spent": EXACT, "reserved": 0}


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


@pytest.mark.parametrize(
    ("check", "most"), [(tokens(100, 1000), 10), (streams(7), 7), (budget(9, 100), 11)]
)
def test_of_fifty_at_once_as_many_are_admitted_as_fit(
    redis_url: str, check: Check, most: int
) -> None:
    with Redis.from_url(redis_url) as redis, ThreadPoolExecutor(50) as pool:
        gate = Gate(redis)
        before_s = redis.time()
        admitted = list(pool.map(lambda n: gate.admit(f"e{n}", check)[0], range(50)))
        after_s = redis.time()
    # what flows back in the meantime is the slack
    slack = int(((after_s[0] - before_s[0]) + 2) * 1000 / 60 / 100) if most == 10 else 0
    assert most <= sum(admitted) <= most + slack


Step = tuple[str, int, int]


@hypothesis_settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(1, 1000),
    st.lists(
        st.tuples(st.sampled_from(["admit", "end"]), st.integers(0, 400), st.integers(0, 9)),
        max_size=30,
    ),
)
def test_the_counts_of_a_budget_and_of_streams_are_those_of_a_model(
    gate: Gate, limit: int, steps: list[Step]
) -> None:
    gate.redis.flushall()
    spent, under_way = 0, dict[str, int]()
    for kind, amount, number in steps:
        event_id = f"e{number}"
        if kind == "admit" and event_id not in under_way:
            reserved = sum(under_way.values())
            fits = spent < limit and spent + reserved + amount <= limit and len(under_way) < 5
            checks = (budget(amount, limit), streams(5))
            assert gate.admit(event_id, *checks)[0] == fits
            if fits:
                under_way[event_id] = amount
        elif kind == "end":
            gate.end(event_id, cost_nanousd=amount)
            if under_way.pop(event_id, None) is not None:
                spent += amount
        counted = {"spent": 0, "reserved": 0} | gate.budget()
        assert counted == {"spent": spent, "reserved": sum(under_way.values())}
        assert gate.redis.scard("limits:x:streams") == len(under_way)
    for event_id in list(under_way):
        gate.end(event_id)
    assert gate.budget().get("reserved", 0) == 0
    assert not gate.redis.exists(RESERVED, "limits:x:streams")


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
