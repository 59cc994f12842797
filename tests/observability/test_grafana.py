"""The files for Grafana and Prometheus in docs/: they parse, and name existing metrics."""

import json
import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml

from app.container import EXTENSION
from app.factory import create_app
from app.observability.build_info import BuildInfo
from app.observability.metrics.families import Families
from app.settings import ROOT, Settings

ALERTS = ROOT / "docs" / "alerts.yml"
GRAFANA = ROOT / "docs" / "grafana" / "tollgate.json"


def alerts() -> list[dict[str, Any]]:
    """The alert rules."""
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """The dashboard's panels, rows left out."""
    found = json.loads(GRAFANA.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def expressions() -> list[str]:
    """Every query of both; Grafana's variables have a value."""
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    shown = [expr.replace("$__rate_interval", "5m").replace("$vendor", ".*") for expr in shown]
    return [rule["expr"] for rule in alerts()] + shown


def selectors(node: Any) -> Iterator[Any]:
    """Yield the selectors of a parsed query."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        below = getattr(node, name, None)
        if below is not None:
            yield from selectors(below)
    for argument in getattr(node, "args", None) or ():
        yield from selectors(argument)


@pytest.fixture(scope="module")
def known() -> dict[str, set[str]]:
    """Every metric there is, as it is scraped, with its labels."""
    nowhere = Settings(redis_url="redis://127.0.0.1:1/0", database_url="sqlite:///nowhere.db")
    services = create_app(nowhere).extensions[EXTENSION]
    counted = [metric for metric in vars(Families()).values() if hasattr(metric, "_labelnames")]
    labels = {
        name: {*metric._labelnames, "le"}
        for metric in counted
        for name in (f"{metric._name}_total", f"{metric._name}_bucket", metric._name)
    }
    labels["up"] = {"job", "instance"}  # Prometheus' own
    for family in (
        *services.backlog.describe(),
        *services.budgets.describe(),
        *BuildInfo().collect(),
    ):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels[name] = set(vars(family)["_labelnames"])
    return labels


def test_a_query_of_one_route_covers_both_endpoints() -> None:
    """A board that shows text completions alone hides the trouble of chat."""
    routes = [
        (matcher.op, matcher.value)
        for expression in expressions()
        for selector in selectors(promql_parser.parse(expression))
        for matcher in selector.matchers.matchers
        if matcher.name == "route"
    ]
    assert routes
    for op, value in routes:
        assert op == promql_parser.MatchOp.Re
        for route in ("/v5/completions", "/v5/chat/completions"):
            assert re.fullmatch(value, route)


@pytest.mark.parametrize("expression", expressions())
def test_a_query_parses_and_names_metrics_and_labels_that_exist(
    expression: str, known: dict[str, set[str]]
) -> None:
    """A query of a metric that does not exist never alerts."""
    found = list(selectors(promql_parser.parse(expression)))
    names = set(re.findall(r"tollgate_\w+|\bup\b", expression))
    assert {selector.name for selector in found} == names
    for selector in found:
        assert selector.name in known
        used = {matcher.name for matcher in selector.matchers.matchers}
        assert used <= known[selector.name]


def test_every_alert_states_the_problem_and_the_next_step() -> None:
    """The person on call has not read the code."""
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)
    for rule in alerts():
        assert set(rule["annotations"]) == {"summary", "action"}
        assert rule["labels"]["severity"] in ("page", "ticket")


def test_the_dashboard_shows_every_metric_and_no_panel_over_another(
    known: dict[str, set[str]],
) -> None:
    """Panels stand in a grid of 24 columns."""
    text = GRAFANA.read_text()
    named = set(re.findall(r"tollgate_\w+", text))
    families = {re.sub(r"_(total|bucket)$", "", name) for name in known if name != "up"}
    assert families <= {re.sub(r"_(total|bucket)$", "", name) for name in named}
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        grid = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(grid["x"], grid["x"] + grid["w"])
            for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
    ids = [panel["id"] for panel in panels()]
    assert len(set(ids)) == len(ids)
