"""Chooses the tracing of this process from its environment."""

from collections.abc import Callable, Mapping

from app.settings import ConfigError
from app.tracing.trace_context import PassThroughTracing, Tracing

#: Each of these names a collector.
OTEL_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def tracing(env: Mapping[str, str]) -> Tracing:
    """Return the tracing that the environment configures: spans only if it names a collector.

    Raises: ConfigError if it does, and the extra `otel` is not installed.
    """
    return _span_tracing()() if _names_collector(env) else PassThroughTracing()


def check_tracing(env: Mapping[str, str]) -> str:
    """Check what `tracing` needs, without starting it; return whether spans are sent.

    Raises: ConfigError as `tracing` does.
    """
    if not _names_collector(env):
        return "no collector: no spans are sent"
    _span_tracing()
    return "spans are sent to the collector"


def _names_collector(env: Mapping[str, str]) -> bool:
    is_named = any(env.get(name) for name in OTEL_VARIABLES)
    return is_named and env.get("OTEL_SDK_DISABLED", "").lower() != "true"


def _span_tracing() -> Callable[[], Tracing]:
    try:
        from app.tracing.otel import span_tracing  # noqa: PLC0415  # an extra, and slow to import
    except ImportError as exc:
        raise ConfigError(
            f"OTEL_* variables configure traces, but {exc.name} is not installed. "
            "Run: pip install -e '.[otel]'"
        ) from exc
    return span_tracing
