"""Traces for an OpenTelemetry collector: a span per request, with one per vendor call below it.

Used only if OTEL_* variables request it; needs the extra `otel`. The SDK reads the collector's
address from them. Names follow OpenTelemetry's conventions for generative AI and for HTTP.
"""

from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from app.tracing.trace_context import CallTrace, Trace
from app.vocabulary.statuses import FAILED_STATUSES

_PROPAGATOR = TraceContextTextMapPropagator()

#: Field of the request log -> attribute of the span; other fields are prefixed with `tollgate.`.
_NAMES = {
    "method": "http.request.method",
    "route": "http.route",
    "status": "http.response.status_code",
    "code": "error.type",
    "vendor": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "model_served": "gen_ai.response.model",
    "prompt_tokens": "gen_ai.usage.input_tokens",
    "completion_tokens": "gen_ai.usage.output_tokens",
}


#: The path of a request -> the convention's name of what it asks for; others are text completions.
_OPERATIONS = {"/v5/chat/completions": "chat"}


class SpanTracing:
    """Records spans, and passes their trace on to vendors."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("tollgate")

    def begin(self, name: str, traceparent: str, tracestate: str) -> Trace:
        """Begin the span of a request, below the caller's span, if any."""
        headers = {"traceparent": traceparent, "tracestate": tracestate}
        parent = _PROPAGATOR.extract(headers, Context())
        operation = _OPERATIONS.get(name.rpartition(" ")[2], "text_completion")
        span = self._tracer.start_span(name, parent, SpanKind.SERVER)
        return _Request(self._tracer, span, operation)

    def close(self) -> None:
        """Send the spans that are left, and stop recording; called when the process exits."""
        self._provider.shutdown()


class _Request:
    def __init__(self, tracer: Tracer, span: Span, operation: str) -> None:
        self._tracer = tracer
        self._span = span
        self._operation = operation

    @property
    def trace_id(self) -> str | None:
        return f"{self._span.get_span_context().trace_id:032x}"

    def call(self, vendor: str, model: str) -> CallTrace:
        attributes = {
            "gen_ai.operation.name": self._operation,
            "gen_ai.provider.name": vendor,
            "gen_ai.request.model": model,
        }
        below = set_span_in_context(self._span, Context())
        name = f"{self._operation} {model}"
        return _Call(self._tracer.start_span(name, below, SpanKind.CLIENT, attributes))

    def end(self, fields: Mapping[str, Any]) -> None:
        for name, value in fields.items():
            self._span.set_attribute(_NAMES.get(name, f"tollgate.{name}"), value)
        if fields.get("status", 0) >= 500 or fields.get("outcome") in FAILED_STATUSES:
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


class _Call:
    def __init__(self, span: Span) -> None:
        self._span = span
        self.headers: dict[str, str] = {}
        _PROPAGATOR.inject(self.headers, set_span_in_context(span, Context()))

    def end(self, http_status: int | None) -> None:
        if http_status is not None:
            self._span.set_attribute("http.response.status_code", http_status)
        if http_status is None or http_status >= 400:
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


def span_tracing() -> SpanTracing:
    """Return the tracing that the process's OTEL_* variables configure."""
    resource = Resource({SERVICE_NAME: "tollgate"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return SpanTracing(provider)
