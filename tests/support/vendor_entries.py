"""Entries of the built-in vendor table, each read once: a thousand tests make an app.

Validating them took a third of that time. An entry depends on what it is read from alone.
"""

import functools
from collections.abc import Mapping
from typing import Any

from app.vendors import entry as entries
from app.vendors import table as tables
from app.vendors.entry import GatewaySpec
from app.vendors.vendor import Vendor

_known: dict[tuple[str, int, frozenset[tuple[str, str]]], Vendor] = {}


def _load_once(
    name: str, table: dict[str, Any], env: Mapping[str, str], gateways: Mapping[str, GatewaySpec]
) -> Vendor:
    if tables._built_in().get(name) is not table:  # a test's own, or one that is merged over it
        return entries.load_entry(name, table, env, gateways)
    text = _text(name)
    used = frozenset((variable, value) for variable, value in env.items() if variable in text)
    key = (name, id(gateways), used)
    found = _known.get(key)
    if found is None:
        found = _known[key] = entries.load_entry(name, table, env, gateways)
    return found


@functools.cache
def _text(name: str) -> str:
    return repr(tables._built_in()[name])


def pytest_configure() -> None:
    """Have the table's entries read once in this process."""
    tables.load_entry = _load_once  # type: ignore[attr-defined]
