"""A `model` that is not `vendor/name`: which one was meant."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest
from app.vocabulary.suggestion import nearest

#: Signs that other services have between a vendor and a name.
_SEPARATORS = (":", ".", "|", "@")


def explain_model(
    error: InvalidRequest, fields: Mapping[str, Any], vendors: Iterable[Vendor]
) -> None:
    """Add the model that was meant to an error about `model`, if there is one."""
    if "model" not in {error.param, *(it["param"] for it in error.details)}:
        return
    model = fields.get("model")
    if isinstance(model, str) and (meant := _meant(model.strip().strip("/"), list(vendors))):
        error.add(f"Did you mean the model `{meant}`?")


def _meant(model: str, vendors: list[Vendor]) -> str | None:
    if not model or len(model) > 128:
        return None
    if "/" in model:
        prefix, _, name = model.partition("/")
        vendor = nearest(prefix, _names(vendors))
        return f"{vendor}/{name.strip('/')}" if vendor and name.strip("/") else None
    known = [vendor for vendor in vendors if _has(vendor, model)]
    if known:  # those that are configured first
        known.sort(key=lambda vendor: vendor.missing is not None)
        return f"{known[0].name}/{model}"
    for separator in _SEPARATORS:
        prefix, found, name = model.partition(separator)
        if found and name and prefix in _names(vendors):
            return f"{prefix}/{name}"
    return None


def _has(vendor: Vendor, model: str) -> bool:
    """Return whether a vendor is known for models of this name."""
    listed = (name for name in vendor.models if name != "*")
    name = model.partition("?")[0].lower()
    return any(fnmatchcase(name, glob) for glob in (*listed, *vendor.known_for))


def _names(vendors: Iterable[Vendor]) -> list[str]:
    return [vendor.name for vendor in vendors]
