"""The vendor table: config/vendors.toml, overridden by the file that TOLLGATE_VENDORS names.

Does not depend on the keys of an entry (see `entry`) or on any API format.
"""

import functools
import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from marshmallow import ValidationError

from app.accounts.apikey import secret_digest
from app.settings import CONFIG_DIR, ConfigError
from app.vendors.entry import GatewaySpec, load_entry
from app.vendors.vendor import Vendor
from app.vocabulary.errors import ModelNotFound
from app.vocabulary.suggestion import nearest

BUILT_IN = CONFIG_DIR / "vendors.toml"


class VendorTable:
    """The vendors of this installation, by name."""

    def __init__(self, vendors: Iterable[Vendor]) -> None:
        self._vendors = {vendor.name: vendor for vendor in vendors}

    def __iter__(self) -> Iterator[Vendor]:
        """Iterate over the vendors in the order of their names."""
        return iter(sorted(self._vendors.values(), key=lambda vendor: vendor.name))

    def configured(self) -> list[Vendor]:
        """Return the vendors whose settings are complete."""
        return [vendor for vendor in self if vendor.missing is None]

    def find(self, name: str) -> Vendor:
        """Return the vendor `name`.

        Raises: ModelNotFound, which lists the known vendors, or names the missing setting.
        """
        vendor = self._vendors.get(name)
        if vendor is None:
            known = ", ".join(sorted(self._vendors))
            meant = self._meant(name)
            hint = f" Did you mean `{meant}`?" if meant else ""
            raise ModelNotFound(
                f"There is no vendor `{name[:64]}`.{hint} Vendors: {known}.", param="model"
            )
        if vendor.missing is not None:
            raise ModelNotFound(
                f"The vendor `{name}` is not configured: {vendor.missing} is not set.",
                param="model",
            )
        return vendor

    def _meant(self, name: str) -> str | None:
        """Return the vendor that an unknown name most likely means."""
        aliases = {alias: it.name for it in self for alias in it.aliases}
        found = nearest(name, [*self._vendors, *aliases])
        return aliases.get(found, found) if found else None


def load_vendors(
    overlay: Path | None, env: Mapping[str, str], gateways: Mapping[str, GatewaySpec]
) -> VendorTable:
    """Read the built-in table, and merge `overlay` over it, key by key.

    A key of Tollgate is not the key of a vendor whose base URL is built in, but may be that of
    another Tollgate: a terminal for OpenAI's clients has Tollgate's key in OPENAI_API_KEY.
    Raises: ConfigError that lists every invalid key of every entry.
    """
    tables, over = dict(_built_in()), _read(overlay) if overlay else {}
    elsewhere = {name for name, table in over.items() if "base_url" in table}
    for name, table in over.items():
        tables[name] = _overlaid(tables.get(name, {}), table)
    vendor_env = {name: it for name, it in env.items() if secret_digest(it) is None}
    problems: list[str] = []
    vendors = []
    for name, table in tables.items():
        try:
            vendors.append(
                load_entry(name, table, env if name in elsewhere else vendor_env, gateways)
            )
        except ValidationError as exc:
            problems += _lines(f"vendors.{name}", exc.messages)
    problems += _lost_fallbacks(vendors, tables)
    if problems:
        raise ConfigError("\n".join(problems))
    return VendorTable(vendors)


def _lines(path: str, messages: Any) -> Iterator[str]:
    """Yield marshmallow's messages one per line, each with the path of its key."""
    if isinstance(messages, dict):
        for key, inner in messages.items():
            yield from _lines(f"{path}.{key}", inner)
    else:
        yield f"{path}: {' '.join(messages)}"


@functools.cache  # it comes with Tollgate; entries are merged over it, and never into it
def _built_in() -> Mapping[str, dict[str, Any]]:
    return _read(BUILT_IN)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as exc:  # not UTF-8, not TOML, too deep
        raise ConfigError(f"{path}: {exc}") from exc
    tables = document.pop("vendors", {})
    if document or not isinstance(tables, dict):
        raise ConfigError(f"{path}: only [vendors.NAME] tables are allowed")
    wrong = [
        repr(name)
        for name, table in tables.items()
        if not isinstance(table, dict) or not _NAME.fullmatch(name)
    ]
    if wrong:
        raise ConfigError(
            f"{path}: not a table, or a name with other characters than A-Z, a-z, 0-9 and _.-: "
            + ", ".join(wrong)
        )
    return tables


_NAME = re.compile(r"[\w.-]+", re.ASCII)


def _overlaid(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Merge one entry over another, and its inner tables (timeouts, quirks), key by key."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _overlaid(merged[key], value) if both else value
    return merged


def _lost_fallbacks(vendors: Iterable[Vendor], known: Container[str]) -> Iterator[str]:
    for vendor in vendors:
        for fallback in vendor.fallbacks:
            if fallback.partition("/")[0] not in known:
                yield f"vendors.{vendor.name}.fallbacks: There is no vendor for {fallback!r}."
