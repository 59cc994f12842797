"""Single requests, found by any of their ids, on both databases."""

import pytest
import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.lookup import RequestLookup, as_object
from app.storage.sql.transactions import reading
from app.usage.messages.call_attempt import CallAttempt
from tests.support.events import usage_event

FAILED = usage_event(
    event_id="e1",
    request_id="req_a",
    vendor_request_id="chatcmpl-1",
    account_id="acme",
    status="failed",
    error_code="vendor_overloaded",
    error_message="It is full.",
    attempt_log=(CallAttempt("openai", "m", 0, 12, 503, "chatcmpl-1", "vendor_overloaded"),),
)


@pytest.fixture
def lookup(engine: Engine) -> RequestLookup:
    """A ledger with one failed request among others."""
    later = usage_event(event_id="e2", request_id="req_a", started_at_ms=FAILED.started_at_ms + 1)
    Ledger(engine).post([FAILED, later, usage_event(event_id="e3", request_id="other")])
    return RequestLookup(engine)


@pytest.mark.parametrize("any_id", ["e1", "chatcmpl-1"])
def test_a_request_is_found_with_all_that_its_event_says(
    lookup: RequestLookup, any_id: str
) -> None:
    (entry,) = lookup.find(any_id)
    assert entry.event == FAILED


def test_requests_that_share_an_id_come_newest_first(lookup: RequestLookup) -> None:
    assert [entry.event.event_id for entry in lookup.find("req_a")] == ["e2", "e1"]


@pytest.mark.parametrize("any_id", ["", "nobody", "E1", "a\0b", "%", "x" * 10_000, "é"])
def test_an_unknown_id_finds_nothing(lookup: RequestLookup, any_id: str) -> None:
    assert lookup.find(any_id) == []


def test_only_requests_of_these_accounts_are_found(lookup: RequestLookup) -> None:
    assert [it.event.event_id for it in lookup.find("req_a", frozenset({"acme"}))] == ["e1"]
    assert lookup.find("e1", frozenset({"beta"})) == []
    assert lookup.find("e1", frozenset()) == []


def test_the_object_has_the_cost_and_the_other_requests_of_the_id(lookup: RequestLookup) -> None:
    found = as_object(lookup.find("req_a"))
    assert (found["id"], found["event_id"], found["other_event_ids"]) == ("req_a", "e2", ["e1"])
    assert (found["cost_nanousd"], found["price_id"]) == (None, None)
    failed = as_object(lookup.find("e1"))
    assert failed["attempt_log"] == [
        {
            "vendor": "openai",
            "model": "m",
            "duration_ms": 12,
            "http_status": 503,
            "vendor_request_id": "chatcmpl-1",
            "error_code": "vendor_overloaded",
        }
    ]


def test_each_id_is_found_by_an_index(engine: Engine) -> None:
    """A sequential read of a large ledger would take minutes."""
    with reading(engine) as connection:
        found = sa.inspect(connection).get_indexes("entries")
        key = sa.inspect(connection).get_pk_constraint("entries")["constrained_columns"]
    assert {"request_id", "vendor_request_id"} <= {it["column_names"][0] for it in found}
    assert key == ["event_id"]


def test_what_a_vendor_says_of_our_credentials_is_for_operators_alone(engine: Engine) -> None:
    """Also where another vendor then answered."""
    code, said = "vendor_authentication", "The account tollgate-inc owes $9,000."
    refused = CallAttempt("openai", "m", 0, 9, 401, "v-1", code, said)
    others = CallAttempt("spare", "m", 9, 9, 503, "v-2", "vendor_overloaded", "It is full.")
    failed = usage_event(event_id="e8", error_code=code, error_message=said, attempt_log=(refused,))
    served = usage_event(event_id="e9", attempt_log=(refused, others))
    Ledger(engine).post([failed, served])
    lookup = RequestLookup(engine)
    for event in (failed, served):
        (operators,) = lookup.find(event.event_id)
        assert operators.event == event
        (theirs,) = lookup.find(event.event_id, frozenset({event.account_id}))
        assert "tollgate-inc" not in theirs.event.encode().decode()
        assert theirs.event.error_code == event.error_code
    assert theirs.event.attempt_log[1] == others
