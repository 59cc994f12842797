"""Requests beyond a model's context: who is called then, and what the caller gets."""

from collections.abc import Mapping
from typing import Any

import pytest

from app.gateways.families import GATEWAYS
from app.serving.routing import Router
from app.vendors.table import VendorTable
from app.vocabulary.errors import VendorRejected
from tests.serving.conftest import MakeEngine
from tests.serving.engine import CONTEXT, Engine, asked, entry
from tests.support.vendor import (
    CUT,
    Asked,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    completed,
    json_reply,
    stream_reply,
)

TOO_LONG = json_reply({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, 400)
CHAIN = ("spare/spare", "last/last")


def chain(make_engine: MakeEngine, vendor: SimulatedVendor, contexts: Mapping[str, int]) -> Engine:
    """Return an engine of `first` and two entries that stand in for it, with these contexts."""
    first = entry("first", vendor.url, fallbacks=CHAIN)
    engine = make_engine(first, entry("spare", vendor.url), entry("last", vendor.url))
    context = lambda name, _model: contexts.get(name)  # noqa: E731
    engine.router = Router(VendorTable(engine.entries), GATEWAYS, context)
    return engine


def answers(vendor: SimulatedVendor, replies: Mapping[str, Reply]) -> None:
    """Have the vendor answer by the model: the entry's, but for `first`, which is called `m`."""

    def reply(call: Asked) -> Reply:
        return replies.get(call.body["model"]) or completed(call.body)

    vendor.default = reply


@pytest.mark.parametrize(
    ("contexts", "called"),
    [
        ({"first": 8, "spare": 16}, ["m", "spare"]),
        ({"first": 8, "spare": 8, "last": 9}, ["m", "last"]),
        ({"first": 8, "last": 16}, ["m", "last"]),  # spare's is unknown
        ({"spare": 16}, ["m", "spare"]),  # first's is unknown
    ],
)
def test_a_fallback_with_a_larger_context_answers(
    make_engine: MakeEngine,
    vendor: SimulatedVendor,
    contexts: dict[str, int],
    called: list[str],
) -> None:
    engine = chain(make_engine, vendor, contexts)
    answers(vendor, {"m": TOO_LONG})
    chunks, _, error = engine.run(asked())
    assert (engine.models, error) == (called, None)
    assert chunks


@pytest.mark.parametrize("contexts", [{}, {"first": 8}, {"first": 8, "spare": 8, "last": 4}])
def test_without_one_the_overflow_is_the_answer_and_nothing_else_is_called(
    make_engine: MakeEngine, vendor: SimulatedVendor, contexts: dict[str, int]
) -> None:
    engine = chain(make_engine, vendor, contexts)
    answers(vendor, {"m": TOO_LONG})
    _, _, error = engine.run(asked())
    assert engine.models == ["m"]
    assert_overflow(error)


FAILURES: list[Reply] = [
    json_reply({"error": {"message": "down"}}, 503),
    json_reply({"error": {"message": "no such thing"}}, 400),
    json_reply({"error": {"message": "no"}}, 401),
    TOO_LONG,
    Reply([b"nonsense"]),
    Reply([b'{"choices"', CUT]),
]


@pytest.mark.parametrize("failure", FAILURES)
def test_a_fallback_that_fails_in_whatever_way_leaves_the_overflow(
    make_engine: MakeEngine, vendor: SimulatedVendor, failure: Reply
) -> None:
    engine = chain(make_engine, vendor, {"first": 8, "spare": 16})
    answers(vendor, {"m": TOO_LONG, "spare": failure})
    _, _, error = engine.run(asked())
    assert engine.models == ["m", "spare"]
    assert "`first` once and `spare` once" in assert_overflow(error)


def test_a_fallback_may_say_so_first_and_a_larger_one_answers(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = chain(make_engine, vendor, {"first": 8, "spare": 8, "last": 16})
    answers(vendor, {"m": json_reply({"error": {"message": "down"}}, 503), "spare": TOO_LONG})
    assert engine.run(asked())[2] is None
    assert engine.models == ["m", "spare", "last"]


def test_a_stream_that_a_fallback_began_ends_with_that_ones_failure(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = chain(make_engine, vendor, {"first": 8, "spare": 16})
    answers(vendor, {"m": TOO_LONG, "spare": stream_reply(body_of(choice("Hel")), CUT)})
    chunks, _, error = engine.run(asked(stream=True))
    assert (chunks[0].choices[0].text, engine.models) == ("Hel", ["m", "spare"])
    assert not isinstance(error, VendorRejected)


def test_what_a_fallback_may_have_charged_is_charged_and_the_answer_is_not_free(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    """So that an idempotency key is not used for a second charge."""
    engine = chain(make_engine, vendor, {"first": 8, "spare": 16})
    answers(vendor, {"m": TOO_LONG, "spare": Reply([b"nonsense"])})
    with pytest.raises(VendorRejected) as caught:
        engine.service().complete(asked(), CONTEXT)
    assert caught.value.billable
    (event,) = engine.events
    assert (event.status, event.vendor_served, event.source) == ("failed", "spare", "estimated")
    assert event.error_code == "context_length_exceeded"


def assert_overflow(error: Any) -> str:
    """Check that an error is the overflow of the first; return what it says of tries."""
    found: Any = error
    assert isinstance(found, VendorRejected)
    code: str | None = found.code
    assert (found.status, code) == (400, "context_length_exceeded")
    assert "9 tokens > 8 maximum" in found.message
    return found.note or ""
