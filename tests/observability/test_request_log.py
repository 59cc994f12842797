"""The line of one request, without a web process: its fields, its level and what it counts."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from flask import Blueprint, Flask, Response, g
from prometheus_client import CollectorRegistry, generate_latest

from app.observability.metrics.metrics import Metrics
from app.observability.refusals import Refusals
from app.observability.request_log import RequestLine, register_request_log
from app.storage.redis.connection import connect
from app.tracing.trace_context import PassThroughTracing
from app.usage.redis.refusal_counts import RefusalCounts
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorTimeout
from tests.support.events import usage_event

PROXIES = 1


class Ended:
    """A trace that keeps the fields with which it ends."""

    trace_id = "0af7651916cd43dd8448eb211c80319c"

    def __init__(self) -> None:
        self.fields: Mapping[str, Any] = {}

    def call(self, vendor: str, model: str) -> Any:
        raise NotImplementedError

    def end(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields


@pytest.fixture
def metrics() -> Metrics:
    return Metrics([Vendor(name="openai", gateway="openai", base_url="http://x/v1", models=("m",))])


@pytest.fixture
def refusals(metrics: Metrics) -> Refusals:
    return Refusals(RefusalCounts(connect("redis://127.0.0.1:1/0", 0.1)), metrics)


@pytest.fixture
def app(metrics: Metrics, refusals: Refusals) -> Flask:
    """An application with a view, a probe and the request log."""
    app = Flask("test")
    health = Blueprint("health", __name__)
    health.add_url_rule("/livez", "livez", lambda: "ok")
    health.add_url_rule("/readyz", "readyz", lambda: ("no", 503))
    app.register_blueprint(health)
    app.before_request(lambda: g.setdefault("request_id", "req_1") and None)
    register_request_log(app, metrics, refusals, PassThroughTracing(), PROXIES)
    app.add_url_rule("/v5/<name>", view_func=view)
    return app


def view(name: str) -> Response:
    """Answer with the status that the path names, as a view that knows its caller."""
    g.account_id, g.api_key_id, g.key_digest = "acme", "key_1", "0123456789ab"
    status = int(name)
    if status >= 400:
        g.error_code = "some_code"
    return Response("x", status)


class Kept(logging.Handler):
    """Keeps records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    """The records of the request log, of every level."""
    handler, logger = Kept(), logging.getLogger("app.observability.request_log")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler.records
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = vars(record)["fields"]
    return fields


def shown(metrics: Metrics) -> str:
    registry = CollectorRegistry()
    registry.register(metrics.collector())
    return generate_latest(registry).decode()


@pytest.mark.parametrize(
    ("path", "level", "message"),
    [
        ("/v5/200", logging.INFO, "GET /v5/<name> 200"),
        ("/v5/404", logging.INFO, "GET /v5/<name> 404"),
        ("/v5/500", logging.WARNING, "GET /v5/<name> 500"),
        ("/livez", logging.DEBUG, "GET /livez 200"),
        ("/readyz", logging.WARNING, "GET /readyz 503"),
        ("/nowhere", logging.INFO, "GET (no route) 404"),
    ],
)
def test_a_request_leaves_one_line_whose_level_follows_its_status(
    app: Flask, records: list[logging.LogRecord], path: str, level: int, message: str
) -> None:
    app.test_client().get(path).close()
    (record,) = records
    assert (record.levelno, record.getMessage()) == (level, message)


def test_the_line_names_who_asked_what_and_how_it_ended(
    app: Flask, records: list[logging.LogRecord]
) -> None:
    app.test_client().get("/v5/503?secret=1", headers={"x-forwarded-for": "203.0.113.5"}).close()
    (record,) = records
    fields = fields_of(record)
    assert fields.pop("duration_ms") >= 0
    assert fields == {
        "request_id": "req_1",
        "method": "GET",
        "route": "/v5/<name>",
        "status": 503,
        "code": "some_code",
        "account_id": "acme",
        "api_key_id": "key_1",
    }


def test_an_invalid_key_leaves_its_digest_and_where_it_came_from(
    app: Flask, records: list[logging.LogRecord]
) -> None:
    app.test_client().get("/v5/401", headers={"x-forwarded-for": "203.0.113.5"}).close()
    (record,) = records
    fields = fields_of(record)
    assert (fields["client_address"], fields["key_digest"]) == ("203.0.113.5", "0123456789ab")


def test_responses_are_counted_by_route_and_status(app: Flask, metrics: Metrics) -> None:
    for path in ("/v5/200", "/v5/201", "/v5/200", "/nowhere"):
        app.test_client().get(path).close()
    text = shown(metrics)
    assert 'tollgate_http_requests_total{route="/v5/<name>",status="200"} 2.0' in text
    assert 'tollgate_http_requests_total{route="none",status="404"} 1.0' in text


def test_a_completion_adds_its_usage_to_the_line_and_to_the_trace(
    metrics: Metrics, refusals: Refusals, records: list[logging.LogRecord]
) -> None:
    trace = Ended()
    line = RequestLine("req_1", metrics, refusals, trace, PROXIES)
    line.opened(stream=True)
    line.recorded(usage_event(model_served=None, status="truncated", http_status=502))
    line.failed(VendorTimeout("the vendor was too slow"))
    line.write()
    (record,) = records
    fields = fields_of(record)
    assert trace.fields == fields
    assert (fields["outcome"], fields["vendor_status"]) == ("truncated", 502)
    assert fields["code"] == VendorTimeout.code
    assert (fields["trace_id"], fields["total_tokens"]) == (Ended.trace_id, 5)
    assert "model_served" not in fields  # unknown fields are left out
    assert 'status="truncated",vendor="openai"} 1.0' in shown(metrics)


def test_surplus_choices_and_unknown_reasons_are_counted_and_logged_with_the_request(
    metrics: Metrics, refusals: Refusals, records: list[logging.LogRecord]
) -> None:
    line = RequestLine("req_1", metrics, refusals, Ended(), PROXIES)
    line.surplus("openai", 2)
    line.unknown_reason("openai", "bored")
    messages = [(record.levelno, record.getMessage()) for record in records]
    assert messages[0] == (logging.WARNING, "openai sent 2 surplus choices in request req_1")
    assert messages[1][0] == logging.WARNING
    assert "openai" in messages[1][1]
    assert "request req_1" in messages[1][1]
    text = shown(metrics)
    assert 'tollgate_surplus_choices_total{vendor="openai"} 2.0' in text
    assert "tollgate_unknown_finish_reasons_total{" in text
