"""An audit entry's detail as text. No I/O."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from app.vocabulary.money import show_usd


def detail_text(detail: Mapping[str, Any]) -> str:
    """Return `name: old → new` for changed values and `name: value` for others."""
    return "; ".join(f"{_label(name)}: {_change(name, value)}" for name, value in detail.items())


def _label(name: str) -> str:
    for unit in ("_at_ms", "_ms", "_nanousd", "_s"):
        name = name.removesuffix(unit)
    return name.replace("_", " ")


def _change(name: str, value: Any) -> str:
    if isinstance(value, list):
        return f"{_text(name, value[0])} → {_text(name, value[1])}"
    return _text(name, value)


def _text(name: str, value: Any) -> str:
    if value is None:
        return "none"
    if name.endswith("_nanousd"):
        return show_usd(value)
    if name.endswith("_ms"):
        return _moment(value / 1000)
    return _moment(value) if name.endswith("_s") else str(value)


def _moment(unix_s: float) -> str:
    return datetime.fromtimestamp(int(unix_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
