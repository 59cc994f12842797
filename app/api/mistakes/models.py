"""A `model` that is not `vendor/name`: which one was meant."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from app.api.mistakes.keys import is_placeholder
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest
from app.vocabulary.suggestion import nearest

#: What may stand around a name that was pasted, and a slash as URLs escape it.
_AROUND = re.compile(r"""^[\s"'`/\u200b\ufeff]+|[\s"'`/\u200b\ufeff]+$""")
_ESCAPED = re.compile("%2f", re.IGNORECASE)

#: Signs that other services have between a vendor and a name.
_SEPARATORS = (":", ".", "|", "@", "\\", "-", "_", " ")


def explain_model(
    error: InvalidRequest, fields: Mapping[str, Any], vendors: Iterable[Vendor]
) -> None:
    """Add the model that was meant to an error about `model`, if there is one."""
    if "model" not in {error.param, *(it["param"] for it in error.details)}:
        return
    model = fields.get("model")
    if not isinstance(model, str):
        return
    if meant := meant_model(model, vendors):
        error.add(f"Did you mean the model `{meant}`?")
    elif is_placeholder(model.strip()):
        error.add("It is a placeholder, or a variable that is not set. Send a model's name.")


def meant_model(name: str, all_vendors: Iterable[Vendor]) -> str | None:
    """Return the `vendor/name` that was most likely meant; None if it cannot be told."""
    model, vendors = _ESCAPED.sub("/", _AROUND.sub("", name)), list(all_vendors)
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
    if vendor := nearest(model, _names(vendors), 0.9):  # the vendor alone, which has one model
        listed = next(it.models for it in vendors if it.name == vendor)
        return f"{vendor}/{listed[0]}" if len(listed) == 1 and listed[0] != "*" else None
    for separator in _SEPARATORS:
        prefix, found, name = model.partition(separator)
        if found and name.strip() and (vendor := _named(prefix, vendors)):
            return f"{vendor}/{name.strip()}"
    return None


def _has(vendor: Vendor, model: str) -> bool:
    """Return whether a vendor is known for models of this name."""
    listed = (name for name in vendor.models if name != "*")
    name = model.partition("?")[0].lower()
    return any(fnmatchcase(name, glob) for glob in (*listed, *vendor.known_for))


def _named(name: str, vendors: Iterable[Vendor]) -> str | None:
    """Return the vendor of a name in any case; None if there is none."""
    return next((it for it in _names(vendors) if it == name.strip().lower()), None)


def _names(vendors: Iterable[Vendor]) -> list[str]:
    return [vendor.name for vendor in vendors]
