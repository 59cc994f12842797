"""A caller's trace is parsed, and passed on to vendors."""

import re

import pytest

from app.tracing.trace_context import UNTRACED, PassThroughTracing

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"


def test_each_call_of_a_trace_has_a_span_of_its_own() -> None:
    """Section 3.4 of the standard: a participant that passes a trace on changes the parent id."""
    trace = PassThroughTracing().begin("POST /", TRACEPARENT, "vendor=1")
    assert trace.trace_id == TRACE_ID
    told = [trace.call("sim", "m").headers for _ in range(2)]
    for headers in told:
        assert re.fullmatch(f"00-{TRACE_ID}-[0-9a-f]{{16}}-01", headers["traceparent"])
        assert SPAN_ID not in headers["traceparent"]
        assert headers["tracestate"] == "vendor=1"
    assert told[0] != told[1]


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        "nonsense",
        f"ff-{TRACE_ID}-{SPAN_ID}-01",
        f"00-{'0' * 32}-{SPAN_ID}-01",
        f"00-{TRACE_ID}-{'0' * 16}-01",
        f"00-{TRACE_ID}-{SPAN_ID}-01-more",
        f"00-{TRACE_ID.upper()}-{SPAN_ID}-01",
        f"00-{TRACE_ID}-{SPAN_ID}-01\r\nx-evil: 1",
    ],
)
def test_what_is_no_trace_is_not_passed_on(traceparent: str) -> None:
    """Vendors get no trace headers."""
    trace = PassThroughTracing().begin("POST /", traceparent, "vendor=1")
    assert trace is UNTRACED
    assert trace.trace_id is None
    assert trace.call("sim", "m").headers == {}


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    """Its additional fields and flags are dropped."""
    trace = PassThroughTracing().begin("POST /", f"cc-{TRACE_ID}-{SPAN_ID}-ff-what", "")
    headers = trace.call("sim", "m").headers
    assert re.fullmatch(f"00-{TRACE_ID}-[0-9a-f]{{16}}-03", headers["traceparent"])
    assert "tracestate" not in headers


@pytest.mark.parametrize("state", ["x" * 513, "a=\x7f", "a=ü"])
def test_a_state_that_cannot_be_sent_is_left_out(state: str) -> None:
    """The trace itself is passed on."""
    headers = PassThroughTracing().begin("POST /", TRACEPARENT, state).call("sim", "m").headers
    assert set(headers) == {"traceparent"}
