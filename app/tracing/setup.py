"""Chooses the tracing of this process from its environment."""

from collections.abc import Mapping

from app.settings import ConfigError
from app.tracing.trace_context import PassThroughTracing, Tracing

#: Each of these names a collector.
OTEL_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def tracing(env: Mapping[str, str]) -> Tracing:
    """Return the tracing that the environment configures: spans only if it names a collector.

    Raises: ConfigError if it does, and the extra `otel` is not installed.
    """
    wanted = any(env.get(name) for name in OTEL_VARIABLES)
    if not wanted or env.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return PassThroughTracing()
    try:
        from app.tracing.otel import span_tracing  # noqa: PLC0415  # an extra, and slow to import
    except ImportError as exc:
        raise ConfigError(
            f"OTEL_* variables configure traces, but {exc.name} is not installed. "
            "Run: pip install -e '.[otel]'"
        ) from exc
    return span_tracing()
