"""Spans are recorded only if the environment names a collector."""

import sys

import pytest

from app.settings import ConfigError
from app.tracing.setup import OTEL_VARIABLES, tracing
from app.tracing.trace_context import PassThroughTracing


def test_without_a_collector_traces_are_only_passed_on() -> None:
    assert isinstance(tracing({}), PassThroughTracing)
    assert isinstance(tracing({OTEL_VARIABLES[0]: ""}), PassThroughTracing)


@pytest.mark.parametrize("name", OTEL_VARIABLES)
def test_tracing_can_be_disabled_though_a_collector_is_named(name: str) -> None:
    env = {name: "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "True"}
    assert isinstance(tracing(env), PassThroughTracing)


@pytest.mark.parametrize("name", OTEL_VARIABLES)
def test_without_the_extra_the_error_names_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "app.tracing.otel", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(ConfigError, match=r"opentelemetry.* pip install -e '\.\[otel\]'"):
        tracing({name: "http://127.0.0.1:9"})
