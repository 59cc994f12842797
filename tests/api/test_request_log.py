"""The one line that a request leaves in the log."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.support.gateway import Gateway
from tests.support.services.polling import wait_until
from tests.support.vendor import CUT, Reply, SimulatedVendor
from tests.tracing.test_trace_context import TRACE_ID, TRACEPARENT

LOGGER = "app.observability.request_log"


class Lines(logging.Handler):
    """Keeps the fields of the request log."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.kept.append({"level": record.levelname, **vars(record)["fields"]})

    def one(self) -> dict[str, Any]:
        """Wait for the one line there is to be: it is written after the answer."""
        wait_until(lambda: len(self.kept) == 1)
        return self.kept[0]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """The request log, from INFO on as in production."""
    handler, logger = Lines(), logging.getLogger(LOGGER)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_a_completion_leaves_one_line_without_its_prompt(gateway: Gateway, lines: Lines) -> None:
    """Who, what, how much and how long; nothing of what was said."""
    answer = gateway.post({"model": "sim/m", "prompt": "a-secret-prompt", "user": "secret-user"})
    line, event = lines.one(), gateway.event()
    assert line["request_id"] == answer.headers["x-request-id"] == event.request_id
    assert line["account_id"] == "acme"
    assert line["api_key_id"] == gateway.key_id
    assert (line["vendor"], line["model"]) == ("sim", "m")
    assert (line["method"], line["route"], line["status"]) == ("POST", "/v5/completions", 200)
    assert (line["outcome"], line["source"], line["attempts"]) == ("completed", "vendor", 1)
    assert line["total_tokens"] == event.total_tokens > 0
    assert line["duration_ms"] >= event.duration_ms
    assert "secret" not in str(line)
    assert "word0" not in str(line)
    assert gateway.api_key not in str(line)


def test_a_refused_request_says_why_and_of_whom(gateway: Gateway, lines: Lines) -> None:
    """Before the vendor, there is no event to tell of."""
    gateway.post({"model": "nowhere/m", "prompt": "hi"})
    line = lines.one()
    assert (line["status"], line["code"]) == (404, "model_not_found")
    assert line["account_id"] == "acme"
    assert "outcome" not in line


def test_a_stranger_leaves_a_line_without_a_name(gateway: Gateway, lines: Lines) -> None:
    """And without what it offered as a key, also where that stands in the query."""
    url = f"{gateway.base_url}/models?api_key=tg_secret"
    requests.get(url, headers={"x-api-key": "tg_secret"}, timeout=60)
    line = lines.one()
    assert (line["status"], line["code"], line["route"]) == (401, "invalid_api_key", "/v5/models")
    assert "account_id" not in line
    assert "tg_secret" not in str(line)


def test_a_vendors_failure_is_a_warning(
    gateway: Gateway, vendor: SimulatedVendor, lines: Lines
) -> None:
    """It has the vendor's status beside ours."""
    vendor.reply(Reply([b"{}"], status=500))
    gateway.post({"model": "sim/m", "prompt": "hi"})
    line = lines.one()
    assert (line["level"], line["status"], line["vendor_status"]) == ("WARNING", 502, 500)
    assert (line["code"], line["outcome"]) == ("vendor_failed", "failed")


def test_a_stream_that_breaks_off_says_so_after_its_status(
    gateway: Gateway, vendor: SimulatedVendor, lines: Lines
) -> None:
    """The status line said 200 by then."""
    chunk = b'data: {"id":"c","created":1,"model":"m","choices":[{"index":0,"text":"a"}]}\n\n'
    vendor.reply(Reply([chunk, CUT], headers={"content-type": "text/event-stream"}))
    with pytest.raises(requests.RequestException):
        gateway.post({"model": "sim/m", "prompt": "hi", "stream": True})
    line = lines.one()
    assert (line["status"], line["code"], line["outcome"]) == (200, "vendor_failed", "truncated")
    assert line["first_token_ms"] >= 0


def test_probes_are_quiet_as_long_as_all_is_well(gateway: Gateway, lines: Lines) -> None:
    """They come every few seconds."""
    root = gateway.base_url.removesuffix("/v5")
    for path in ("/livez", "/readyz", "/metrics"):
        assert requests.get(f"{root}{path}", timeout=60).status_code == 200
    requests.get(f"{root}/nowhere", timeout=60)
    line = lines.one()
    assert line["status"] == 404
    assert "route" not in line


@pytest.mark.parametrize("stream", [False, True])
def test_a_callers_trace_reaches_the_vendor_and_the_log(
    gateway: Gateway, vendor: SimulatedVendor, lines: Lines, stream: bool
) -> None:
    """The vendor is a child of ours, not of the caller."""
    headers = {"traceparent": TRACEPARENT, "tracestate": "a=1"}
    gateway.post({"model": "sim/m", "prompt": "hi", "stream": stream}, headers=headers)
    assert lines.one()["trace_id"] == TRACE_ID
    (asked,) = vendor.asked
    told = {name.lower(): text for name, text in asked.headers.items()}
    assert told["traceparent"].startswith(f"00-{TRACE_ID}-")
    assert told["traceparent"] != TRACEPARENT
    assert told["tracestate"] == "a=1"


def test_without_a_trace_the_vendor_is_told_of_none(
    gateway: Gateway, vendor: SimulatedVendor, lines: Lines
) -> None:
    """Nothing is made up."""
    gateway.post({"model": "sim/m", "prompt": "hi"})
    assert "trace_id" not in lines.one()
    assert not {name.lower() for name in vendor.asked[0].headers} & {"traceparent", "tracestate"}
