"""The vendor table: config/vendors.toml, overlaid by the file that TOLLGATE_VENDORS names.

Owns the table's form and its checks. Knows no wire format.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from app.errors import ModelNotFound
from app.gateways.base import Timeouts, Vendor
from app.settings import CONFIG_DIR, ConfigError

BUILT_IN = CONFIG_DIR / "vendors.toml"


class _TimeoutsSchema(Schema):
    class Meta:
        unknown = RAISE

    connect_s = fields.Float(validate=validate.Range(min=0, min_inclusive=False))
    first_token_s = fields.Float(validate=validate.Range(min=0, min_inclusive=False))
    idle_s = fields.Float(validate=validate.Range(min=0, min_inclusive=False))
    total_s = fields.Float(validate=validate.Range(min=0, min_inclusive=False))


class _VendorSchema(Schema):
    """One `[vendors.NAME]` table, as written."""

    class Meta:
        unknown = RAISE

    gateway = fields.String(required=True)
    base_url = fields.Url(schemes={"http", "https"}, require_tld=False)
    base_url_env = fields.String()
    api_key_env = fields.String()
    headers = fields.Dict(keys=fields.String(), values=fields.String())
    models = fields.List(fields.String(), validate=validate.Length(min=1))
    refuses = fields.List(fields.String())
    drop_unsupported = fields.Boolean(truthy={True}, falsy={False})
    token_prompts = fields.Boolean(truthy={True}, falsy={False})
    asks_usage = fields.Boolean(truthy={True}, falsy={False})
    on_disconnect = fields.String(validate=validate.OneOf(["cancel", "drain"]))
    timeouts = fields.Nested(_TimeoutsSchema)


class VendorTable:
    """The vendors of one deployment, by name."""

    def __init__(self, vendors: Iterable[Vendor]) -> None:
        self._vendors = {vendor.name: vendor for vendor in vendors}

    def __iter__(self) -> Any:
        """Iterate over the vendors, by name."""
        return iter(sorted(self._vendors.values(), key=lambda vendor: vendor.name))

    def configured(self) -> list[Vendor]:
        """Return the vendors that can be called."""
        return [vendor for vendor in self if vendor.missing is None]

    def find(self, name: str) -> Vendor:
        """Return the vendor to call.

        Raises: ModelNotFound, naming the vendors there are, or the setting that is missing.
        """
        vendor = self._vendors.get(name)
        if vendor is None:
            known = ", ".join(sorted(self._vendors))
            raise ModelNotFound(
                f"There is no vendor `{name[:64]}`. Vendors: {known}.", param="model"
            )
        if vendor.missing is not None:
            raise ModelNotFound(
                f"The vendor `{name}` is not configured: {vendor.missing} is not set.",
                param="model",
            )
        return vendor


def load_vendors(
    overlay: Path | None, env: Mapping[str, str], gateways: Iterable[str]
) -> VendorTable:
    """Read the built-in table and lay `overlay` over it, key by key.

    Raises: ConfigError listing every wrong key of every entry.
    """
    tables = _read(BUILT_IN)
    for name, table in (_read(overlay) if overlay else {}).items():
        tables[name] = _overlaid(tables.get(name, {}), table)
    problems: list[str] = []
    vendors = []
    for name, table in tables.items():
        try:
            vendors.append(_vendor(name, table, env, frozenset(gateways)))
        except ValidationError as exc:
            problems.append(f"vendors.{name}: {exc.messages}")
    if problems:
        raise ConfigError("\n".join(problems))
    return VendorTable(vendors)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise ConfigError(f"{path}: {exc}") from exc
    tables = document.pop("vendors", {})
    if document or not isinstance(tables, dict):
        raise ConfigError(f"{path}: every table must be [vendors.NAME]")
    wrong = [name for name, table in tables.items() if not isinstance(table, dict) or "/" in name]
    if wrong:
        raise ConfigError(f"{path}: not tables with a plain name: {', '.join(wrong)}")
    return tables


def _overlaid(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Lay one entry over another; its inner tables (timeouts, headers) key by key, too."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = {**merged[key], **value} if both else value
    if "base_url" in above:  # the overlay's word wins over the built-in variable
        merged.pop("base_url_env", None) if "base_url_env" not in above else None
    return merged


def _vendor(
    name: str, table: dict[str, Any], env: Mapping[str, str], gateways: frozenset[str]
) -> Vendor:
    row = _VendorSchema().load(table)
    if row["gateway"] not in gateways:
        raise ValidationError({"gateway": [f"must be one of {', '.join(sorted(gateways))}"]})
    base_url_env, key_env = row.pop("base_url_env", None), row.pop("api_key_env", None)
    base_url = (env.get(base_url_env) if base_url_env else None) or row.pop("base_url", "")
    row.pop("base_url", None)
    api_key = (env.get(key_env) if key_env else None) or None
    missing = None
    if not base_url:
        missing = base_url_env or "base_url"
    elif key_env and not api_key:
        missing = key_env
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise ValidationError({"api_key_env": [f"{key_env} is not plain text"]})
    return Vendor(
        name=name,
        base_url=base_url.rstrip("/"),
        api_key=api_key,
        missing=missing,
        models=tuple(row.pop("models", ("*",))),
        refuses=frozenset(row.pop("refuses", ())),
        timeouts=Timeouts(**row.pop("timeouts", {})),
        **row,
    )
