"""The vendor table: config/vendors.toml, overlaid by the file that TOLLGATE_VENDORS names.

Owns the table's form and its checks. Knows no wire format.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from app.completion import PARAMETERS
from app.errors import ModelNotFound
from app.gateways.base import AUTH_HEADERS, SIGNED, Family, Timeouts, Vendor
from app.settings import CONFIG_DIR, ConfigError

BUILT_IN = CONFIG_DIR / "vendors.toml"


_above_zero = validate.Range(min=0, min_inclusive=False)


def _flag() -> fields.Boolean:
    return fields.Boolean(truthy={True}, falsy={False})


class _TimeoutsSchema(Schema):
    class Meta:
        unknown = RAISE

    connect_s = fields.Float(validate=_above_zero)
    first_token_s = fields.Float(validate=_above_zero)
    idle_s = fields.Float(validate=_above_zero)
    total_s = fields.Float(validate=_above_zero)


class _VendorSchema(Schema):
    """One `[vendors.NAME]` table, its variables filled in."""

    class Meta:
        unknown = RAISE

    gateway = fields.String(required=True)
    base_url = fields.Url(required=True, schemes={"http", "https"}, require_tld=False)
    api_key_env = fields.String()
    auth = fields.String(validate=validate.OneOf([*AUTH_HEADERS, *SIGNED]))
    headers = fields.Dict(keys=fields.String(), values=fields.String())
    models = fields.List(fields.String(), validate=validate.Length(min=1))
    native = fields.List(fields.String())
    fallbacks = fields.List(fields.String())
    retries = fields.Integer(strict=True, validate=validate.Range(min=0, max=10))
    refuses = fields.List(fields.String(validate=validate.OneOf(PARAMETERS)))
    drop_unsupported = _flag()
    list_prompts = _flag()
    max_n = fields.Integer(strict=True, validate=validate.Range(min=1))
    token_prompts = _flag()
    asks_usage = _flag()
    on_disconnect = fields.String(validate=validate.OneOf(["cancel", "drain"]))
    timeouts = fields.Nested(_TimeoutsSchema)
    quirks = fields.Dict()


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
    overlay: Path | None, env: Mapping[str, str], families: Mapping[str, Family]
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
            vendors.append(_vendor(name, table, env, families))
        except ValidationError as exc:
            problems.append(f"vendors.{name}: {exc.messages}")
    problems += _lost_fallbacks(vendors)
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
    """Lay one entry over another; its inner tables (timeouts, headers, quirks) key by key, too."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = {**merged[key], **value} if both else value
    return merged


def _vendor(
    name: str, table: dict[str, Any], env: Mapping[str, str], families: Mapping[str, Family]
) -> Vendor:
    unset = sorted(set(_unset(table, env)))
    row = _VendorSchema().load(_filled(table, env))
    family = families.get(row["gateway"])
    if family is None:
        raise ValidationError({"gateway": [f"must be one of {', '.join(sorted(families))}"]})
    key_env = row.pop("api_key_env", None)
    api_key = (env.get(key_env) if key_env else None) or None
    if api_key is not None and not (api_key.isascii() and api_key.isprintable()):
        raise ValidationError({"api_key_env": [f"{key_env} is not plain text"]})
    if key_env and not api_key and row.get("auth") not in SIGNED:
        unset.append(key_env)
    return Vendor(
        name=name,
        base_url=row.pop("base_url").rstrip("/"),
        api_key=api_key,
        missing=unset[0] if unset else None,
        native=tuple(row.pop("native", () if family.chat else ("*",))),
        refuses=frozenset(row.pop("refuses", ())),
        timeouts=Timeouts(**row.pop("timeouts", {})),
        quirks=_quirks(family).load(row.pop("quirks", {})),
        **_frozen(row),
    )


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def _quirks(family: Family) -> Schema:
    known: dict[str, Any] = {}
    for gateway in (family.native, family.chat):
        known |= gateway.quirks if gateway else {}
    schema: Schema = Schema.from_dict(known)(unknown=RAISE)
    return schema


def _lost_fallbacks(vendors: Iterable[Vendor]) -> Iterator[str]:
    known = {vendor.name for vendor in vendors}
    for vendor in vendors:
        for fallback in vendor.fallbacks:
            if fallback.partition("/")[0] not in known:
                yield f"vendors.{vendor.name}: fallbacks: there is no vendor {fallback!r}"


#: `${NAME}` in any text of the table stands for a variable, `${NAME:-text}` for one with a default.
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")

#: Stands for a variable that is not set, so that the rest of the entry can still be checked.
_UNSET = "http://unset.invalid"


def _filled(value: Any, env: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, env) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, env) for inner in value]
    if not isinstance(value, str):
        return value

    def word(found: re.Match[str]) -> str:
        instead = found[2] or (_UNSET if found[0] == value else "unset")
        return env.get(found[1]) or instead

    return _VARIABLE.sub(word, value)


def _unset(value: Any, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables that the table needs and the environment does not have."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _unset(inner, env)
    elif isinstance(value, str):
        for name, default in _VARIABLE.findall(value):
            if not env.get(name) and not default:
                yield name
