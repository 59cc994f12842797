"""One entry of the vendor table: its keys, their validation, and the variables that it names."""

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from app.vendors.vendor import AUTH_HEADERS, SIGNED, Timeouts, Vendor
from app.vocabulary.chat.parameters import ALL_PARAMETERS


def _check_base_url(url: str) -> None:
    """Check that paths can be appended to `url`; its host may be any name, e.g. a cluster's."""
    try:
        parts = urlsplit(url)
        found = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # an invalid port or IPv6 address
        found = False
    if not found or not _PLAIN.fullmatch(url):
        raise ValidationError(
            "Not an http:// or https:// URL, or one with credentials, a query or spaces."
        )


#: A URL without user, query and fragment.
_PLAIN = re.compile(r"[!$%&'()*+,\-./0-9:;=A-Z\[\]_a-z~]+")

#: The values of `finish_reasons`.
ENDINGS = ("stop", "length", "content_filter", "error")

_above_zero = validate.Range(min=0, min_inclusive=False)
_header_name = validate.Regexp(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", error="Not a valid header name.")
_header_value = validate.Regexp(r"[ -~]*\Z", error="Not printable ASCII.")


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
    """One `[vendors.NAME]` table, after its variables are replaced."""

    class Meta:
        unknown = RAISE

    gateway = fields.String(required=True)
    base_url = fields.String(required=True, validate=_check_base_url)
    api_key_env = fields.String()
    auth = fields.String(validate=validate.OneOf([*AUTH_HEADERS, *SIGNED]))
    headers = fields.Dict(
        keys=fields.String(validate=_header_name), values=fields.String(validate=_header_value)
    )
    models = fields.List(fields.String(), validate=validate.Length(min=1))
    aliases = fields.List(fields.String())
    known_for = fields.List(fields.String())
    native = fields.List(fields.String())
    fallbacks = fields.List(fields.String())
    retries = fields.Integer(strict=True, validate=validate.Range(min=0, max=10))
    unsupported = fields.List(fields.String(validate=validate.OneOf(ALL_PARAMETERS)))
    drop_unsupported = _flag()
    list_prompts = _flag()
    max_n = fields.Integer(strict=True, validate=validate.Range(min=1))
    max_stops = fields.Integer(strict=True, validate=validate.Range(min=1))
    token_prompts = _flag()
    asks_usage = _flag()
    model_queries = _flag()
    on_disconnect = fields.String(validate=validate.OneOf(["cancel", "read"]))
    finish_reasons = fields.Dict(
        keys=fields.String(), values=fields.String(validate=validate.OneOf(ENDINGS))
    )
    timeouts = fields.Nested(_TimeoutsSchema)
    quirks = fields.Dict()


@dataclass(frozen=True, slots=True, eq=False)
class GatewaySpec:
    """The traits of an entry's `gateway` that the table needs.

    takes_prompts  whether it has a completions API, and not only chat
    quirks         the keys of an entry's `quirks` table, each with its marshmallow field
    """

    takes_prompts: bool
    quirks: Mapping[str, fields.Field[Any]]


def load_entry(
    name: str, table: dict[str, Any], env: Mapping[str, str], gateways: Mapping[str, GatewaySpec]
) -> Vendor:
    """Return the vendor that a `[vendors.NAME]` table describes.

    Raises: ValidationError that lists every invalid key.
    """
    unset = sorted(set(_unset(table, env)))
    row, quirks = _checked(_filled(table, env), env, gateways)
    gateway = gateways[row["gateway"]]
    key_env = row.pop("api_key_env", None)
    api_key = (env.get(key_env) if key_env else None) or None
    if key_env and not api_key and row.get("auth") not in SIGNED:
        unset.append(key_env)
    return Vendor(
        name=name,
        base_url=row.pop("base_url").rstrip("/"),
        has_base_url=not any(_unset(table["base_url"], env)),
        api_key=api_key,
        missing=unset[0] if unset else None,
        native=tuple(row.pop("native", ("*",) if gateway.takes_prompts else ())),
        unsupported=frozenset(row.pop("unsupported", ())),
        timeouts=Timeouts(**row.pop("timeouts", {})),
        quirks=quirks,
        **_frozen(row),
    )


_SCHEMA = _VendorSchema()


def _checked(
    table: dict[str, Any], env: Mapping[str, str], gateways: Mapping[str, GatewaySpec]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entry and its quirks; raise ValidationError for all invalid keys together."""
    quirks: dict[str, Any] = {}
    row, problems = _loaded(_SCHEMA, table)
    if "gateway" not in problems:
        gateway = gateways.get(table["gateway"])
        if gateway is None:
            problems["gateway"] = [f"Must be one of: {', '.join(sorted(gateways))}."]
        elif "quirks" not in problems:
            quirks, problems["quirks"] = _loaded(_quirks_schema(gateway), row.pop("quirks", {}))
    key_env = table.get("api_key_env", "")
    if "api_key_env" not in problems and not _is_plain(env.get(key_env, "")):
        problems["api_key_env"] = [f"The value of {key_env} is not printable ASCII."]
    if any(problems.values()):
        raise ValidationError(problems)
    return row, quirks


def _loaded(schema: Schema, table: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the valid keys of a table, and the problems of the others."""
    try:
        return schema.load(table), {}
    except ValidationError as exc:
        return cast(dict[str, Any], exc.valid_data), dict(exc.messages_dict)


def _is_plain(key: str) -> bool:
    return key.isascii() and key.isprintable()


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


@functools.cache  # most of what reading a table costs, and many entries share a gateway
def _quirks_schema(gateway: GatewaySpec) -> Schema:
    schema: Schema = Schema.from_dict(dict(gateway.quirks))(unknown=RAISE)
    return schema


#: `${NAME}` in any text of the table is replaced by a variable; `${NAME:-text}` has a default.
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")

#: Replaces a variable that is not set, so that the rest of the entry can still be validated.
_UNSET = "http://unset.invalid"


def _filled(value: Any, env: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, env) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, env) for inner in value]
    if not isinstance(value, str):
        return value

    def replacement(found: re.Match[str]) -> str:
        default = found[2] or (_UNSET if found[0] == value else "unset")
        return env.get(found[1]) or default

    return _VARIABLE.sub(replacement, value)


def _unset(value: Any, env: Mapping[str, str]) -> Iterator[str]:
    """Yield the variables in the table that have neither a value nor a default."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _unset(inner, env)
    elif isinstance(value, str):
        for name, default in _VARIABLE.findall(value):
            if not env.get(name) and not default:
                yield name
