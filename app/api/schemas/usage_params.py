"""The query strings of the usage and cost API, as UsageParams.

Arrays are accepted as OpenAI's clients send them (`models[]=a&models[]=b`) or bare
(`models=a&models=b`). Source: OpenAI's `GET /organization/usage/completions` and
`GET /organization/costs`; `timezone`, `endpoints`, `format` and `bom` are Tollgate's own.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from marshmallow import Schema, ValidationError, post_load, validates_schema
from werkzeug.datastructures import MultiDict

from app.api.schemas.fields import MISSING, UNKNOWN, VALUE, Problem
from app.api.schemas.problems import first_problem
from app.api.schemas.query_fields import (
    Flag,
    Ids,
    Integer,
    Models,
    OneOf,
    Scalar,
    Texts,
    TimeZone,
    UnixSeconds,
    Words,
)
from app.ledger.reports.buckets import TIME_LIMIT_S
from app.ledger.reports.query import GroupKey
from app.vocabulary.request import ENDPOINTS

#: OpenAI's names of groups -> ours; None: every request in Tollgate has the same value.
GROUPS: Mapping[str, GroupKey | None] = {
    "project_id": "account",
    "user_id": "user",
    "api_key_id": "api_key",
    "model": "model",
    "endpoint": "endpoint",
    "batch": None,
    "service_tier": None,
    "api_source": None,
}
#: The same for costs. A line item is a model, by the name that callers request.
COST_GROUPS: Mapping[str, GroupKey | None] = {
    "project_id": "account",
    "user_id": "user",
    "line_item": "model",
    "api_key_id": "api_key",
    "endpoint": "endpoint",
    "api_source": None,
}
#: The same for refused requests.
REFUSAL_GROUPS: Mapping[str, GroupKey | None] = {
    "project_id": "account",
    "api_key_id": "api_key",
    "endpoint": "endpoint",
    "reason": "reason",
}


@dataclass(frozen=True, slots=True)
class BucketWidth:
    """An allowed bucket width in seconds, with the default and largest page size in buckets."""

    seconds: int
    default_limit: int
    largest_limit: int


WIDTHS: Mapping[str, BucketWidth] = {
    "1m": BucketWidth(60, 60, 1440),
    "1h": BucketWidth(3_600, 24, 168),
    "1d": BucketWidth(86_400, 7, 31),
}
#: Refused requests are counted by the hour.
REFUSAL_WIDTHS = {name: WIDTHS[name] for name in ("1h", "1d")}
COST_WIDTHS: Mapping[str, BucketWidth] = {"1d": BucketWidth(86_400, 7, 180)}

#: The most buckets in a file: a week of minutes, more than a year of hours.
FILE_BUCKETS = 10_080


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageParams:
    """A checked query; None: the parameter is absent."""

    start_s: int
    end_s: int | None
    width: BucketWidth
    timezone: str
    project_ids: frozenset[str] | None
    user_ids: frozenset[str] | None
    api_key_ids: frozenset[str] | None
    models: frozenset[str] | None
    batch: bool | None
    group_by: frozenset[str]
    limit: int
    page: str | None
    as_csv: bool
    bom: bool = False
    endpoints: frozenset[str] | None = None

    @property
    def zone(self) -> tzinfo:
        """The time zone in which days begin."""
        return UTC if self.timezone == "UTC" else ZoneInfo(self.timezone)

    def fingerprint(self) -> bytes:
        """Return what must be the same for all pages: everything except the page and its size.

        Pages have no byte-order mark. Without it and without endpoints, the version before computes
        the same.
        """
        *same, _bom, endpoints = astuple(replace(self, limit=0, page=None))
        if endpoints is not None:
            same.append(endpoints)
        return orjson.dumps(same, default=sorted)


def load_usage_params(query: MultiDict[str, str]) -> UsageParams:
    """Check the query string of `GET /v5/organization/usage/completions`.

    Raises: InvalidRequest for the first invalid parameter, named in `param`.
    """
    return _load(_USAGE, query)


def load_costs_params(query: MultiDict[str, str]) -> UsageParams:
    """Check the query string of `GET /v5/organization/costs`.

    Raises: InvalidRequest for the first invalid parameter, named in `param`.
    """
    return _load(_COSTS, query)


def load_refusals_params(query: MultiDict[str, str]) -> UsageParams:
    """Check the query string of `GET /v5/organization/usage/refusals`.

    Raises: InvalidRequest for the first invalid parameter, named in `param`.
    """
    return _load(_REFUSALS, query)


def _load(schema: Schema, query: MultiDict[str, str]) -> UsageParams:
    try:
        params: UsageParams = schema.load(_fold(schema, query))
    except ValidationError as exc:
        raise first_problem(exc, schema.fields) from exc
    return params


def _fold(schema: Schema, query: MultiDict[str, str]) -> dict[str, str | list[str]]:
    """Merge both spellings of an array. A repeated scalar stays a list, which its field rejects."""
    folded: dict[str, Any] = {}
    for name, values in query.lists():
        bare = name.removesuffix("[]")
        if isinstance(schema.fields.get(bare), Texts):
            folded.setdefault(bare, []).extend(values)
        else:
            folded[name] = values if len(values) > 1 else values[0]
    return folded


_ABSENT = Problem(MISSING, "is required")
_UNKNOWN = Problem(UNKNOWN, "is not a parameter of this query")


class _RangeSchema(Schema):
    """The parameters of both queries."""

    error_messages = {"unknown": _UNKNOWN}  # noqa: RUF012  marshmallow declares it like this

    start_time = UnixSeconds(
        0,
        TIME_LIMIT_S - 1,
        required=True,
        attribute="start_s",
        error_messages={"required": _ABSENT},
    )
    end_time = UnixSeconds(1, TIME_LIMIT_S, attribute="end_s", load_default=None)
    timezone = TimeZone(load_default="UTC")
    project_ids = Ids(load_default=None)
    api_key_ids = Ids(load_default=None)
    endpoints = Words(ENDPOINTS, load_default=None)
    page = Scalar(load_default=None)
    format = OneOf({"json": False, "csv": True}, attribute="as_csv", load_default=False)
    bom = Flag(load_default=False)

    @validates_schema(skip_on_field_errors=True)
    def _check_together(self, values: Mapping[str, Any], **_: Any) -> None:
        end_s, limit, width = values["end_s"], values["limit"], values["width"]
        if end_s is not None and end_s <= values["start_s"]:
            raise ValidationError([Problem(VALUE, "must be after `start_time`")], "end_time")
        if limit is not None and limit > width.largest_limit:
            sentence = f"must be from 1 to {width.largest_limit} for this `bucket_width`"
            raise ValidationError([Problem(VALUE, sentence)], "limit")
        if values["bom"] and not values["as_csv"]:
            raise ValidationError([Problem(VALUE, "can only be given with `format=csv`")], "bom")
        for name in ("limit", "page") if values["as_csv"] else ():
            if values[name] is not None:
                sentence = "cannot be given with `format=csv`: a file contains the whole range"
                raise ValidationError([Problem(VALUE, sentence)], name)

    @post_load
    def _build(self, values: dict[str, Any], **_: Any) -> UsageParams:
        absent = {"user_ids": None, "batch": None, "models": None}
        limit = values["limit"] or values["width"].default_limit
        return UsageParams(**absent | values | {"limit": limit})


class UsageParamsSchema(_RangeSchema):
    """The query string of `GET /v5/organization/usage/completions`."""

    bucket_width = OneOf(dict(WIDTHS), attribute="width", load_default=WIDTHS["1d"])
    user_ids = Texts(load_default=None)
    models = Models(load_default=None)
    batch = Flag(load_default=None)
    group_by = Words(tuple(GROUPS), load_default=frozenset())
    limit = Integer(1, max(w.largest_limit for w in WIDTHS.values()), load_default=None)


class CostsParamsSchema(_RangeSchema):
    """The query string of `GET /v5/organization/costs`."""

    bucket_width = OneOf(dict(COST_WIDTHS), attribute="width", load_default=COST_WIDTHS["1d"])
    line_items = Models(attribute="models", load_default=None)
    group_by = Words(tuple(COST_GROUPS), load_default=frozenset())
    limit = Integer(1, COST_WIDTHS["1d"].largest_limit, load_default=None)


class RefusalsParamsSchema(_RangeSchema):
    """The query string of `GET /v5/organization/usage/refusals`."""

    bucket_width = OneOf(dict(REFUSAL_WIDTHS), attribute="width", load_default=REFUSAL_WIDTHS["1d"])
    group_by = Words(tuple(REFUSAL_GROUPS), load_default=frozenset())
    limit = Integer(1, REFUSAL_WIDTHS["1h"].largest_limit, load_default=None)


_REFUSALS = RefusalsParamsSchema()
_USAGE = UsageParamsSchema()
_COSTS = CostsParamsSchema()
