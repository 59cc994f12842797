"""Spans, as a collector receives them."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from app.settings import Settings
from app.tracing.otel import span_tracing
from tests.support.gateway import gunicorn, with_account
from tests.support.services.polling import wait_until
from tests.support.vendor import Reply, SimulatedVendor
from tests.tracing.test_trace_context import SPAN_ID, TRACE_ID, TRACEPARENT


class Collector:
    """An OTLP endpoint that stores the spans it receives."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        spans = self.spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                sent = ExportTraceServiceRequest.FromString(body)
                for resource in sent.resource_spans:
                    spans.extend(span for scope in resource.scope_spans for span in scope.spans)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=[0.05], daemon=True).start()

    def named(self, start: str) -> Any:
        """The only span whose name starts with `start`."""
        (span,) = [span for span in self.spans if span.name.startswith(start)]
        return span


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector on this host."""
    collector = Collector()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()


def attributes(span: Any) -> dict[str, Any]:
    """A span's attributes, by name."""
    return {
        item.key: getattr(item.value, item.value.WhichOneof("value")) for item in span.attributes
    }


def test_a_request_is_a_span_below_its_caller_with_its_calls_below_it(
    settings: Settings, collector: Collector, tmp_path: Path, vendor: SimulatedVendor
) -> None:
    """In a real web process; the first call fails and is retried."""
    env = {
        "REDIS_URL": settings.redis_url,
        "DATABASE_URL": settings.database_url,
        "TOLLGATE_VENDORS": str(settings.vendors_file),
        "TOLLGATE_SPOOL_DIR": str(settings.spool_dir),
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "50",
    }
    vendor.reply(Reply([b"{}"], status=503))
    with (
        gunicorn(env, tmp_path / "web.log") as (url, _),
        with_account(url, settings) as gateway,
    ):
        body = {"model": "again/m", "prompt": "a-secret-prompt"}
        gateway.post(body, headers={"traceparent": TRACEPARENT})
        wait_until(lambda: any(span.trace_id.hex() == TRACE_ID for span in collector.spans))
        wait_until(lambda: any(s.name == "POST /v5/completions" for s in collector.spans))
    request = collector.named("POST /v5/completions")
    assert request.trace_id.hex() == TRACE_ID
    assert request.parent_span_id.hex() == SPAN_ID
    told = attributes(request)
    assert told["http.response.status_code"] == 200
    assert told["gen_ai.request.model"] == "m"
    assert told["tollgate.attempts"] == 2
    calls = [span for span in collector.spans if span.name == "text_completion m"]
    assert [attributes(call)["http.response.status_code"] for call in calls] == [503, 200]
    assert {call.parent_span_id for call in calls} == {request.span_id}
    parents = [asked.headers["traceparent"].split("-")[2] for asked in vendor.asked]
    assert parents == [call.span_id.hex() for call in calls]
    assert "secret" not in str(collector.spans)


@pytest.mark.parametrize(
    ("path", "operation"),
    [("/v5/completions", "text_completion"), ("/v5/chat/completions", "chat")],
)
def test_a_call_has_the_conventions_name_of_what_was_asked_for(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, path: str, operation: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    traces = span_tracing()
    trace = traces.begin(f"POST {path}", "", "")
    trace.call("sim", "m").end(200)
    trace.end({"status": 200})
    traces.close()
    call = collector.named(f"{operation} m")
    assert attributes(call)["gen_ai.operation.name"] == operation


def test_a_call_without_an_answer_is_an_error(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a caller's trace, a new one begins."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    traces = span_tracing()
    trace = traces.begin("POST /", "", "")
    trace.call("sim", "m").end(None)
    trace.end({"status": 502, "code": "vendor_failed"})
    traces.close()
    request, call = collector.named("POST /"), collector.named("text_completion")
    assert request.trace_id.hex() == trace.trace_id
    assert not request.parent_span_id
    assert request.status.code == call.status.code == 2  # STATUS_CODE_ERROR
    assert attributes(request)["error.type"] == "vendor_failed"
