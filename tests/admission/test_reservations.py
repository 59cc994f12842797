"""The scripts that count limits, on a real Valkey."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from redis import Redis

from app.admission.reservations import (
    DEBT_LIMIT,
    EXACT,
    UNITS,
    Charge,
    Check,
)
from app.storage.redis.keys import EVENTS, OPEN, RESERVED
from tests.admission.gate import SLOW, Gate, budget, requests, streams, tokens
from tests.support.events import usage_event


def test_a_request_that_fits_opens_its_record_and_reserves(gate: Gate) -> None:
    admitted, states = gate.admit("e1", requests(60), tokens(100), streams(2), budget(7))
    assert admitted
    assert [(it.fits, it.used, it.reserved) for it in states] == [
        (True, UNITS, 0),
        (True, 100 * UNITS, 0),
        (True, 1, 0),
        (True, 0, 7),
    ]
    assert gate.records.all() == {"e1": b'{"number":1,}'}
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


def test_nonsense_of_a_vendor_does_not_lock_an_account_out_for_good(gate: Gate) -> None:
    gate.admit("e1", tokens(1, 1000), budget(1, 2**52))
    gate.end("e1", tokens=2**62, cost_nanousd=2**70)
    assert gate.used() == 1000 * UNITS * DEBT_LIMIT
    assert gate.budget() == {"spent": EXACT, "reserved": 0}


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
