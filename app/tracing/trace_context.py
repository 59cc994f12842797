"""Traces: what a caller's `traceparent` says is passed on to the vendors that are called for it.

Source: W3C Trace Context, https://www.w3.org/TR/trace-context/. `app.tracing.otel` records spans as
well; where that is not asked for, nothing of it is imported.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, Protocol

from app.settings import ConfigError

#: Version, trace id, the caller's span, flags; later versions may add fields.
_TRACEPARENT = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")

_PRINTABLE = re.compile(r"[ -~]*")

#: Longer ones may be dropped (section 3.3.1.5), in characters.
_TRACESTATE_LIMIT = 512


class CallTrace(Protocol):
    """One call to a vendor."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What the vendor is told."""
        ...

    def end(self, http_status: int | None) -> None:
        """End it; `http_status` None where the vendor gave no answer."""
        ...


class Trace(Protocol):
    """One request to us."""

    @property
    def trace_id(self) -> str | None:
        """The id that the caller's traces know it by, 32 hexadecimal digits."""
        ...

    def call(self, vendor: str, model: str) -> CallTrace:
        """Begin a call to a vendor."""
        ...

    def end(self, fields: Mapping[str, Any]) -> None:
        """End it; `fields` is what the log says of the request."""
        ...


class Tracing(Protocol):
    """How this process traces."""

    def begin(self, name: str, traceparent: str, tracestate: str) -> Trace:
        """Begin to trace a request; `name` is its method and route, the rest its headers."""
        ...


class Untraced:
    """A request without a trace, and its calls."""

    trace_id = None
    headers: Mapping[str, str] = {}

    def call(self, vendor: str, model: str) -> CallTrace:  # noqa: ARG002
        """Begin nothing."""
        return self

    def end(self, _: object) -> None:
        """End nothing."""


UNTRACED = Untraced()


class Passed:
    """A trace of the caller's, of which we record nothing ourselves."""

    def __init__(self, trace_id: str, flags: str, state: str) -> None:
        self.trace_id = trace_id
        self._flags = flags
        self._state = state

    def call(self, vendor: str, model: str) -> CallTrace:  # noqa: ARG002
        """Give the call a span id of its own, as whoever passes a trace on must."""
        headers = {"traceparent": f"00-{self.trace_id}-{os.urandom(8).hex()}-{self._flags}"}
        if self._state:
            headers["tracestate"] = self._state
        return _PassedCall(headers)

    def end(self, fields: Mapping[str, Any]) -> None:
        """Record nothing."""


class _PassedCall:
    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = headers

    def end(self, http_status: int | None) -> None:
        pass


class PassingOn:
    """Passes on the traces of callers that have one."""

    def begin(self, name: str, traceparent: str, tracestate: str) -> Trace:  # noqa: ARG002
        """Read the caller's trace; one that cannot be read is none."""
        found = _TRACEPARENT.fullmatch(traceparent.strip())
        if found is None:
            return UNTRACED
        version, trace_id, span_id, flags, more = found.groups()
        if not int(trace_id, 16) or not int(span_id, 16) or (version == "00" and more):
            return UNTRACED
        # Of the flags, version 00 knows two: sampled, and that the id is random.
        return Passed(trace_id, f"{int(flags, 16) & 3:02x}", _checked(tracestate.strip()))


def _checked(state: str) -> str:
    """Return a state that can be sent on; another one is dropped, as its standard allows."""
    return state if len(state) <= _TRACESTATE_LIMIT and _PRINTABLE.fullmatch(state) else ""


def tracing(env: Mapping[str, str]) -> Tracing:
    """Return how a deployment traces: it records spans only where its environment says so.

    Raises: ConfigError when it does, and the extra for it is not installed.
    """
    asked = any(env.get(name) for name in OTEL_VARIABLES)
    if not asked or env.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return PassingOn()
    try:
        from app.tracing.otel import recording  # noqa: PLC0415  # an extra, and slow to import
    except ImportError as exc:
        raise ConfigError(
            f"OTEL_* variables ask for traces: pip install 'tollgate[otel]' ({exc.name} is missing)"
        ) from exc
    return recording()


#: Any of them says that there is a collector.
OTEL_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
