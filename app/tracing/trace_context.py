"""Passes a caller's `traceparent` on to the vendors that are called for its request.

Source: W3C Trace Context, https://www.w3.org/TR/trace-context/. `app.tracing.otel` also records
spans. These classes do not use opentelemetry-api, whose no-op tracer costs 2.6 microseconds for a
request without a trace instead of 0.2, and 6.7 instead of 2.2 for one with a trace.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Protocol

#: Version, trace id, the caller's span, flags; later versions may add fields.
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")

_PRINTABLE = re.compile(r"[ -~]*")

#: Longer states may be dropped (section 3.3.1.5), in characters.
_TRACESTATE_LIMIT = 512


class CallTrace(Protocol):
    """The trace of one vendor call."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The trace headers to send to the vendor."""
        ...

    def end(self, http_status: int | None) -> None:
        """End the call; `http_status` is None if the vendor did not respond."""
        ...


class Trace(Protocol):
    """The trace of one request."""

    @property
    def trace_id(self) -> str | None:
        """The trace id, 32 hexadecimal digits; None without a trace."""
        ...

    def call(self, vendor: str, model: str) -> CallTrace:
        """Begin a vendor call."""
        ...

    def end(self, fields: Mapping[str, Any]) -> None:
        """End the request; `fields` are those of its line in the request log."""
        ...


class Tracing(Protocol):
    """The tracing of this process."""

    def begin(self, name: str, traceparent: str, tracestate: str) -> Trace:
        """Begin a request's trace; `name` is its method and route, the others are its headers."""
        ...


class Untraced:
    """The trace, and the call traces, of a request without one."""

    trace_id = None
    headers: Mapping[str, str] = {}

    def call(self, vendor: str, model: str) -> CallTrace:  # noqa: ARG002
        return self

    def end(self, _: object) -> None:
        """Do nothing: there is no span."""


UNTRACED = Untraced()


class PassedTrace:
    """A caller's trace that is passed on, without recording spans."""

    def __init__(self, trace_id: str, flags: str, state: str) -> None:
        self.trace_id = trace_id
        self._flags = flags
        self._state = state

    def call(self, vendor: str, model: str) -> CallTrace:  # noqa: ARG002
        """Begin a vendor call, with its own span id, as the standard requires."""
        headers = {"traceparent": f"00-{self.trace_id}-{os.urandom(8).hex()}-{self._flags}"}
        if self._state:
            headers["tracestate"] = self._state
        return _PassedCall(headers)

    def end(self, fields: Mapping[str, Any]) -> None:
        """Do nothing: there is no span."""


class _PassedCall:
    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = headers

    def end(self, http_status: int | None) -> None:
        pass


class PassThroughTracing:
    """Passes on callers' traces, without recording spans."""

    def begin(self, name: str, traceparent: str, tracestate: str) -> Trace:  # noqa: ARG002
        """Read the caller's trace; an invalid one is ignored."""
        found = _TRACEPARENT.fullmatch(traceparent.strip())
        if found is None:
            return UNTRACED
        version, trace_id, span_id, flags, more = found.groups()
        if not int(trace_id, 16) or not int(span_id, 16) or (version == "00" and more):
            return UNTRACED
        # Version 00 defines two flags: sampled, and random trace id.
        return PassedTrace(trace_id, f"{int(flags, 16) & 3:02x}", _checked(tracestate.strip()))


def _checked(state: str) -> str:
    """Return the state; "" if it is too long or invalid, which the standard allows to drop."""
    return state if len(state) <= _TRACESTATE_LIMIT and _PRINTABLE.fullmatch(state) else ""
