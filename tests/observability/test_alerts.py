"""docs/alerts.yml, evaluated by promtool: which alerts fire on a web process's metrics."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from app.admission.unchecked import REASONS
from app.container import EXTENSION
from app.factory import create_app
from app.observability.metrics.metrics import Metrics
from app.settings import ROOT, Settings
from app.usage.disk.spool_disk import ENOUGH_BYTES
from tests.observability.test_grafana import alerts, selectors
from tests.support.events import usage_event

Sample = tuple[str, Mapping[str, str], float]

#: An evaluation a minute: so many before something happens, and after.
BEFORE, AFTER = 30, 30


@pytest.fixture(scope="session")
def promtool() -> str:
    """Prometheus's tool; without it, a developer's machine skips these tests."""
    found = shutil.which("promtool")
    if found is None:
        assert "CI" not in os.environ, "CI tests the alerts: install prometheus"
        pytest.skip("no promtool here")
    return found


@pytest.fixture
def metrics(tmp_path: Path) -> Metrics:
    """The counts of a web process that has just started; `openai` and `sandbox` have their keys."""
    settings = Settings(
        redis_url="redis://127.0.0.1:1/0",
        database_url=f"sqlite:///{tmp_path / 'ledger.db'}",
        spool_dir=tmp_path / "spool",
        env={"OPENAI_API_KEY": "sk-some"},
    )
    counts: Metrics = create_app(settings).extensions[EXTENSION].metrics
    return counts


def scraped(metrics: Metrics) -> list[Sample]:
    """Every series, as Prometheus reads it."""
    registry = CollectorRegistry()
    registry.register(metrics.collector())
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return [(it.name, it.labels, it.value) for family in families for it in family.samples]


def series(before: Sequence[Sample], after: Sequence[Sample]) -> list[dict[str, str]]:
    """Return promtool's input: all series before and after an incident, minute by minute."""
    first = {(name, tuple(labels.items())): value for name, labels, value in before}
    found = []
    for name, labels, value in after:
        was = first.get((name, tuple(labels.items())))
        past = f"_x{BEFORE}" if was is None else f"{was:f}+0x{BEFORE - 1}"
        written = ",".join(f'{label}="{it}"' for label, it in labels.items())
        values = f"{past} {value:f}+0x{AFTER}"
        found.append({"series": f"{name}{{{written}}}", "values": values})
    return found


def firing(
    promtool: str, folder: Path, told: Sequence[Mapping[str, str]], minute: int
) -> set[tuple[str, str]]:
    """Return which alerts fire at a minute: (name, vendor or instance)."""
    path = folder / "alerts_test.yml"
    path.write_text(yaml.safe_dump(rules_test(told, minute)))
    ran = subprocess.run(
        [promtool, "test", "rules", path], capture_output=True, text=True, check=False
    )
    output = ran.stdout + ran.stderr
    assert ran.returncode in (0, 1), output
    assert ("SUCCESS" in output) is (ran.returncode == 0), output
    return set(_complained(output))


def rules_test(told: Sequence[Mapping[str, str]], minute: int) -> dict[str, Any]:
    """Return a test for promtool that expects no alerts, so that it reports those that fire."""
    up = [{"series": 'up{job="tollgate",instance="web:8000"}', "values": "1+0x90"}]
    named = any(it["series"].startswith("up{") for it in told)
    return {
        "rule_files": [str(ROOT / "docs" / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [*([] if named else up), *told],
                "promql_expr_test": [],
                "alert_rule_test": [
                    {"eval_time": f"{minute}m", "alertname": rule["alert"], "exp_alerts": []}
                    for rule in alerts()
                ],
            }
        ],
    }


def _complained(output: str) -> Iterator[tuple[str, str]]:
    for block in output.split("alertname: ")[1:]:
        name = block.partition(",")[0].strip()
        labels = block.partition("got:")[2]
        for word in ("vendor", "instance"):
            for piece in labels.split(f'{word}="')[1:]:
                yield name, piece.partition('"')[0]
        if 'vendor="' not in labels and 'instance="' not in labels:
            yield name, ""


def test_prometheus_takes_the_configuration_and_the_rules(promtool: str) -> None:
    for what, file in (("config", "prometheus.yml"), ("rules", "alerts.yml")):
        ran = subprocess.run(
            [promtool, "check", what, ROOT / "docs" / file],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert "SUCCESS" in ran.stdout


def test_nothing_fires_while_all_is_well(promtool: str, metrics: Metrics, tmp_path: Path) -> None:
    told = series(scraped(metrics), scraped(metrics))
    assert firing(promtool, tmp_path, told, BEFORE + 10) == set()


def test_the_first_fault_fires(promtool: str, metrics: Metrics, tmp_path: Path) -> None:
    """One error, on a route that had not responded before."""
    before = scraped(metrics)
    metrics.answered("/v5/completions", 500)
    told = series(before, scraped(metrics))
    assert firing(promtool, tmp_path, told, BEFORE + 2) == {("TollgateFaults", "")}


@pytest.mark.parametrize("status", [401, 402, 403])
def test_the_first_refusal_of_our_key_fires(
    promtool: str, metrics: Metrics, tmp_path: Path, status: int
) -> None:
    before = scraped(metrics)
    metrics.recorded(usage_event(status="failed", http_status=status))
    fired = firing(promtool, tmp_path, series(before, scraped(metrics)), BEFORE + 2)
    assert fired == {("TollgateVendorAuthentication", "openai")}


@pytest.mark.parametrize("reason", REASONS)
def test_the_first_request_without_a_check_of_its_limits_fires(
    promtool: str, metrics: Metrics, tmp_path: Path, reason: str
) -> None:
    before = scraped(metrics)
    metrics.unlimited(reason)
    told = series(before, scraped(metrics))
    assert firing(promtool, tmp_path, told, BEFORE + 2) == {("TollgateUnlimited", "")}
    assert firing(promtool, tmp_path, told, BEFORE + 12) == set()


def test_a_spool_with_just_enough_space_does_not_fire(promtool: str, tmp_path: Path) -> None:
    values = {"tollgate_spool_usable": 1, "tollgate_spool_free_bytes": ENOUGH_BYTES}
    told = [{"series": name, "values": f"{value}+0x90"} for name, value in values.items()]
    assert firing(promtool, tmp_path, told, BEFORE) == set()


@pytest.mark.parametrize("status", ["failed", "truncated"])
def test_a_vendor_whose_first_requests_fail_fires(
    promtool: str, metrics: Metrics, tmp_path: Path, status: str
) -> None:
    before = scraped(metrics)
    metrics.recorded(usage_event(status=status, http_status=500))
    told = series(before, scraped(metrics))
    # The rule asks for ten minutes of it: more of them come in.
    for it in told:
        it["values"] = it["values"].replace(f" 1.000000+0x{AFTER}", f" 1+1x{AFTER}")
    assert firing(promtool, tmp_path, told, BEFORE + 12) == {("TollgateVendorFails", "openai")}


def test_every_other_alert_fires_on_what_it_is_for(
    promtool: str, metrics: Metrics, tmp_path: Path
) -> None:
    values = {
        "tollgate_redis_up": "1+0x30 0+0x60",
        "tollgate_ledger_up": "0+0x90",
        "tollgate_backlog_oldest_seconds": "301+0x90",
        "tollgate_backlog_events": "10001+100x90",
        "tollgate_dead_events": "1+0x90",
        'tollgate_missing_events{process="web-1"}': "1+0x90",
        "tollgate_unpriced_requests": "1+0x90",
        'tollgate_budgets{state="near"}': "2+0x90",
        'tollgate_budgets{state="over"}': "1+0x90",
        "tollgate_spool_usable": "0+0x90",
        "tollgate_spool_free_bytes": f"{ENOUGH_BYTES - 1}+0x90",
        'tollgate_vendor_circuit_open{vendor="openai"}': "1+0x90",
    }
    told = [{"series": name, "values": it} for name, it in values.items()]
    before = scraped(metrics)
    metrics.recorded(usage_event(stream=True, first_token_ms=30_000))
    slow = [it for it in series(before, scraped(metrics)) if "first_token" in it["series"]]
    for it in slow:
        it["values"] = it["values"].replace(f" 1.000000+0x{AFTER}", f" 1+1x{AFTER}")
    fired = {name for name, _ in firing(promtool, tmp_path, [*told, *slow], BEFORE + 20)}
    spool = [
        {"series": "tollgate_spool_bytes", "values": "5+0x90"},
        {"series": "tollgate_redis_up", "values": "1+0x90"},
    ]
    fired |= {name for name, _ in firing(promtool, tmp_path, spool, BEFORE)}
    elsewhere = {"TollgateDown", "TollgateGone", "TollgateFaults", "TollgateUnlimited"}
    elsewhere |= {"TollgateVendorFails", "TollgateVendorAuthentication"}
    assert fired == {rule["alert"] for rule in alerts()} - elsewhere


def test_a_tollgate_that_is_down_fires_and_one_that_is_gone_does(
    promtool: str, tmp_path: Path
) -> None:
    down = {"series": 'up{job="tollgate",instance="web:8000"}', "values": "1+0x29 0+0x30"}
    fine = {"series": 'up{job="tollgate",instance="other:8000"}', "values": "1+0x60"}
    fired = {("TollgateDown", "web:8000")}
    assert firing(promtool, tmp_path, [down, fine], BEFORE + 3) == fired
    gone = {"series": 'up{job="tollgate",instance="web:8000"}', "values": "1+0x29 stale"}
    assert firing(promtool, tmp_path, [gone], BEFORE + 6) == {("TollgateGone", "")}


def test_each_series_that_an_alert_names_is_there_from_the_start(metrics: Metrics) -> None:
    """By the labels that the rules match: statuses, of each vendor that can be called."""
    there = scraped(metrics)
    for rule in alerts():
        for selector in selectors(promql_parser.parse(rule["expr"])):
            if not selector.name.endswith(("_total", "_bucket")):
                continue  # what is asked of Redis and the ledger, at each scrape
            if selector.name == "tollgate_posted_events_total":
                continue
            found = [labels for name, labels, _ in there if name == selector.name]
            assert found, selector.name
            if "vendor" in found[0]:
                assert {it["vendor"] for it in found} >= {"openai"}
            for matcher in selector.matchers.matchers:
                for value in matcher.value.split("|"):
                    assert [it for it in found if it[matcher.name] == value], (rule, value)


def test_each_route_counts_its_faults_from_the_start(metrics: Metrics) -> None:
    there = scraped(metrics)
    routes = {it["route"] for name, it, _ in there if name == "tollgate_http_requests_total"}
    assert {"/v5/completions", "/v5/models", "/readyz", "/metrics", "none"} <= routes
