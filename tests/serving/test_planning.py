"""Which candidates a request is tried at first, while circuits are open."""

import time
from typing import Any

import pytest

from app.serving.circuit_breaker import UNTIL
from app.serving.planning import first_plan
from app.vocabulary.errors import InvalidRequest
from tests.serving.conftest import MakeEngine
from tests.serving.engine import Engine, asked, entry
from tests.support.vendor import SimulatedVendor

#: What `plain` does not support.
BIASED = {"logit_bias": {"7": 1}}


@pytest.fixture
def engine(make_engine: MakeEngine, vendor: SimulatedVendor) -> Engine:
    """An engine with an entry, and two that stand in for it; the first of these can do less."""
    first = entry("first", vendor.url, fallbacks=("plain/p", "spare/s"))
    plain = entry("plain", vendor.url, unsupported=frozenset({"logit_bias"}))
    return make_engine(first, plain, entry("spare", vendor.url))


def planned(engine: Engine, *opened: str, **fields: Any) -> list[str]:
    """Return the entries that a request is tried at, while the circuits of some are open."""
    if opened:
        engine.redis.zadd(UNTIL, dict.fromkeys(opened, time.time() + 60))
    request = asked(**fields)
    candidates = engine.router.candidates(request)
    tried, plan = first_plan(request, candidates, engine.router, engine.circuit_breaker)
    assert plan.candidate == tried[0]
    return [it.vendor.name for it in tried]


@pytest.mark.parametrize(
    ("opened", "tried"),
    [
        ((), ["first", "plain", "spare"]),
        (("first",), ["plain", "spare"]),
        (("first", "spare"), ["plain"]),
        (("plain",), ["first", "spare"]),
        (("first", "plain", "spare"), ["first", "plain", "spare"]),
    ],
)
def test_open_circuits_are_left_out_where_another_one_is_closed(
    engine: Engine, opened: tuple[str, ...], tried: list[str]
) -> None:
    assert planned(engine, *opened) == tried


@pytest.mark.parametrize(
    ("opened", "tried"),
    [
        (("first",), ["spare"]),
        (("first", "spare"), ["first", "plain", "spare"]),
    ],
)
def test_what_a_substitute_does_not_support_is_not_the_callers_mistake(
    engine: Engine, opened: tuple[str, ...], tried: list[str]
) -> None:
    """The caller has chosen `first`, which supports it."""
    assert planned(engine, *opened, **BIASED) == tried


@pytest.mark.parametrize("opened", [(), ("plain",), ("plain", "spare")])
def test_what_the_requested_entry_does_not_support_is_refused_in_its_name(
    engine: Engine, opened: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequest, match="`plain`") as caught:
        planned(engine, *opened, model="plain/p", **BIASED)
    assert caught.value.param == "logit_bias"
