"""What is counted, and by which labels."""

from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from app.observability.metrics.metrics import MODELS_LIMIT, OTHER, Metrics
from app.usage.messages.event import UsageEvent
from app.vendors.vendor import Vendor
from app.vocabulary.request import ENDPOINTS
from tests.support.events import usage_event

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://x/v1", models=("listed",))


@pytest.fixture
def metrics() -> Metrics:
    """Metrics of a deployment with one vendor."""
    return Metrics([VENDOR])


def ended(**changes: Any) -> UsageEvent:
    """An event of that vendor."""
    return usage_event(**{"vendor": "sim", "vendor_served": "sim"} | changes)


def shown(metrics: Metrics) -> list[str]:
    """The lines that Prometheus would read."""
    registry = CollectorRegistry()
    registry.register(metrics.collector())
    return generate_latest(registry).decode().splitlines()


def value(metrics: Metrics, series: str) -> float:
    """The value of one series; there must be one."""
    (line,) = [line for line in shown(metrics) if line.startswith(f"{series} ")]
    return float(line.rpartition(" ")[2])


def test_ten_thousand_misspelt_models_add_no_line(metrics: Metrics) -> None:
    """B08: all names that callers make up are one series."""
    metrics.recorded(ended(model="missing-0", status="failed", http_status=404))
    before = len(shown(metrics))
    for number in range(10_000):
        metrics.recorded(ended(model=f"missing-{number}", status="failed", http_status=404))
    assert len(shown(metrics)) == before
    labels = 'model="other",status="failed",vendor="sim"'
    series = f'tollgate_completions_total{{endpoint="completions",{labels}}}'
    assert value(metrics, series) == 10_001


def test_models_that_are_answered_have_names_up_to_a_limit(metrics: Metrics) -> None:
    """A vendor that accepts any name does not fill the memory either."""
    for number in range(MODELS_LIMIT + 100):
        metrics.recorded(ended(model=f"m{number}", status="completed"))
    lines = [line for line in shown(metrics) if line.startswith("tollgate_completions_total{")]
    names = {line.partition('model="')[2].partition('"')[0] for line in lines}
    assert len(names) == MODELS_LIMIT + 2  # `listed` and OTHER
    assert len(lines) == len(ENDPOINTS) * 3 * len(names)
    labels = f'endpoint="completions",model="{OTHER}",status="completed",vendor="sim"'
    series = f"tollgate_completions_total{{{labels}}}"
    assert value(metrics, series) == 100


def test_a_model_of_the_vendor_table_has_its_name_before_any_answer(metrics: Metrics) -> None:
    """So alerts see its first failures."""
    metrics.recorded(ended(model="listed", status="failed", http_status=500))
    labels = 'model="listed",status="failed",vendor="sim"'
    series = f'tollgate_completions_total{{endpoint="completions",{labels}}}'
    assert value(metrics, series) == 1
    assert (
        value(
            metrics,
            'tollgate_vendor_errors_total{endpoint="completions",status="500",vendor="sim"}',
        )
        == 1
    )


def test_each_endpoint_has_counts_of_its_own(metrics: Metrics) -> None:
    for endpoint in ("completions", "chat.completions", "chat.completions"):
        metrics.recorded(ended(endpoint=endpoint, model="listed"))
    labels = 'endpoint="chat.completions",model="listed"'
    series = f'tollgate_completions_total{{{labels},status="completed",vendor="sim"}}'
    assert value(metrics, series) == 2
    tokens = 'endpoint="chat.completions",kind="prompt",model="listed",vendor="sim"'
    assert value(metrics, f"tollgate_tokens_total{{{tokens}}}") == 2 * 3
    calls = 'tollgate_vendor_calls_total{endpoint="chat.completions",vendor="sim"}'
    assert value(metrics, calls) == 2


@pytest.mark.parametrize(("status", "label"), [(None, "none"), (503, "503"), (7, "other")])
def test_errors_are_counted_by_the_vendors_status(
    metrics: Metrics, status: int | None, label: str
) -> None:
    """Invalid statuses have no series of their own."""
    metrics.recorded(ended(status="truncated", http_status=status))
    series = f'tollgate_vendor_errors_total{{endpoint="completions",status="{label}",vendor="sim"}}'
    assert value(metrics, series) == 1


def test_a_request_is_counted_with_its_tokens_times_and_calls(metrics: Metrics) -> None:
    """Seconds, not milliseconds; the first token of streams alone."""
    metrics.opened(stream=True)
    assert value(metrics, 'tollgate_open_completions{stream="true"}') == 1
    metrics.recorded(
        ended(
            model="listed",
            status="completed",
            stream=True,
            source="estimated",
            prompt_tokens=7,
            completion_tokens=5,
            attempts=3,
            first_token_ms=250,
            duration_ms=1500,
        )
    )
    assert value(metrics, 'tollgate_open_completions{stream="true"}') == 0
    labels = 'model="listed",vendor="sim"'
    for kind, tokens in (("prompt", 7), ("completion", 5)):
        series = f'tollgate_tokens_total{{endpoint="completions",kind="{kind}",{labels}}}'
        assert value(metrics, series) == tokens
    of_vendor = 'endpoint="completions",vendor="sim"'
    assert value(metrics, f"tollgate_vendor_calls_total{{{of_vendor}}}") == 3
    assert value(metrics, f"tollgate_estimated_completions_total{{{of_vendor}}}") == 1
    first_token = 'tollgate_first_token_seconds_sum{endpoint="%s",vendor="sim"}'
    assert value(metrics, first_token % "completions") == 0.25
    assert value(metrics, first_token % "chat.completions") == 0
    labels = 'endpoint="completions",stream="true",vendor="sim"'
    assert value(metrics, f"tollgate_completion_duration_seconds_sum{{{labels}}}") == 1.5


def test_a_failover_is_counted_where_it_was_served(metrics: Metrics) -> None:
    """A vendor that is no longer in the table has no label of its own."""
    metrics.recorded(ended(vendor="gone", model="listed", status="completed"))
    calls = 'tollgate_vendor_calls_total{endpoint="completions",vendor="%s"}'
    assert value(metrics, calls % "sim") == 1
    metrics.recorded(ended(vendor="gone", vendor_served=None))
    assert value(metrics, calls % OTHER) == 1
