"""The query string of the usage API, checked with marshmallow: text in, one UsageParams out.

Arrays come as OpenAI's clients send them (`models[]=a&models[]=b`) or bare (`models=a&models=b`).
Source: OpenAI's `GET /organization/usage/completions`.
"""

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, NoReturn

import orjson
from marshmallow import Schema, ValidationError, fields, post_load, validates_schema
from werkzeug.datastructures import MultiDict

from app.fields import MISSING, TYPE, VALUE, JSONSchema, Problem
from app.schemas import first_problem
from app.usage.buckets import TIME_LIMIT_S
from app.usage.query import GroupKey

#: OpenAI's names of what usage is grouped by -> ours; None has one value for every request here.
GROUPS: Mapping[str, GroupKey | None] = {
    "project_id": "account",
    "user_id": "user",
    "api_key_id": "api_key",
    "model": "model",
    "batch": None,
    "service_tier": None,
    "api_source": None,
}


@dataclass(frozen=True, slots=True)
class BucketWidth:
    """A width that may be asked for: in seconds, with the default and largest page in buckets."""

    seconds: int
    default_limit: int
    largest_limit: int


WIDTHS: Mapping[str, BucketWidth] = {
    "1h": BucketWidth(3_600, 24, 168),
    "1d": BucketWidth(86_400, 7, 31),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageParams:
    """What a caller asks of the usage API; None and `end_s` None mean that it was left open."""

    start_s: int
    end_s: int | None
    width: BucketWidth
    project_ids: frozenset[str] | None
    user_ids: frozenset[str] | None
    api_key_ids: frozenset[str] | None
    models: frozenset[str] | None
    batch: bool | None
    group_by: frozenset[str]
    limit: int
    page: str | None

    def fingerprint(self) -> bytes:
        """Return what must be the same on every page: all but the page and its size."""
        return orjson.dumps(astuple(replace(self, limit=0, page=None)), default=sorted)


def load_usage_params(query: MultiDict[str, str]) -> UsageParams:
    """Check a query string.

    Raises: InvalidRequest for the first parameter that is wrong, named in `param`.
    """
    try:
        params: UsageParams = _SCHEMA.load(_fold(query))
    except ValidationError as exc:
        raise first_problem(exc) from exc
    return params


def _fold(query: MultiDict[str, str]) -> dict[str, str | list[str]]:
    """Gather both spellings of an array; a scalar that is repeated stays a list, to be refused."""
    folded: dict[str, Any] = {}
    for name, values in query.lists():
        bare = name.removesuffix("[]")
        if bare in _ARRAYS:
            folded.setdefault(bare, []).extend(values)
        else:
            folded[name] = values if len(values) > 1 else values[0]
    return folded


def _refuse(code: str, sentence: str) -> NoReturn:
    raise ValidationError([Problem(code, sentence)])


class _Scalar(fields.Field[Any]):
    def json_schema(self) -> JSONSchema:
        return {"type": "string"}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> Any:
        if not isinstance(value, str):
            _refuse(VALUE, "must be given once")
        return self.parse(value)

    def parse(self, text: str) -> Any:
        return text


class _Integer(_Scalar):
    def json_schema(self) -> JSONSchema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def __init__(self, low: int, high: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.low = low
        self.high = high

    def parse(self, text: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", text):
            _refuse(TYPE, "must be an integer")
        # Longer than any bound, and int() refuses thousands of digits with an error of its own.
        if len(text) > 15 or not self.low <= int(text) <= self.high:
            _refuse(VALUE, f"must be from {self.low} to {self.high}")
        return int(text)


class _Width(_Scalar):
    def json_schema(self) -> JSONSchema:
        return {"type": "string", "enum": list(WIDTHS), "default": "1d"}

    def parse(self, text: str) -> BucketWidth:
        if text == "1m":
            _refuse(VALUE, "cannot be `1m` here: use `1h` or `1d`")
        if text not in WIDTHS:
            _refuse(VALUE, "must be `1h` or `1d`")
        return WIDTHS[text]


class _Flag(_Scalar):
    def json_schema(self) -> JSONSchema:
        return {"type": "boolean"}

    def parse(self, text: str) -> bool:
        if text not in ("true", "false"):
            _refuse(TYPE, "must be true or false")
        return text == "true"


class _Texts(fields.Field[frozenset[str]]):
    def json_schema(self) -> JSONSchema:
        return {"type": "array", "items": {"type": "string", "minLength": 1}}

    def _deserialize(self, value: Any, *_: Any, **__: Any) -> frozenset[str]:
        for index, text in enumerate(value):
            if problem := self.problem(text):
                raise ValidationError({index: [Problem(VALUE, problem)]})
        return frozenset(value)

    def problem(self, text: str) -> str | None:
        if not text or "\0" in text:
            return "must be text, and not empty"
        return None


class _Models(_Texts):
    def json_schema(self) -> JSONSchema:
        item = {"type": "string", "pattern": "^[^/]+/.+$"}
        return {"type": "array", "items": item}

    def problem(self, text: str) -> str | None:
        vendor, _slash, name = text.partition("/")
        if not vendor or not name or "\0" in text:
            return "must be `vendor/name`, for example `openai/gpt-4o`"
        return None


class _GroupBy(_Texts):
    def json_schema(self) -> JSONSchema:
        return {"type": "array", "items": {"type": "string", "enum": list(GROUPS)}}

    def problem(self, text: str) -> str | None:
        return None if text in GROUPS else f"must be one of {', '.join(GROUPS)}"


_ABSENT = Problem(MISSING, "is required")
_UNKNOWN = Problem("unknown_parameter", "is not a parameter of this query")


class UsageParamsSchema(Schema):
    """The query string of `GET /v5/organization/usage/completions`."""

    error_messages = {"unknown": _UNKNOWN}  # noqa: RUF012  marshmallow declares it like this

    start_time = _Integer(
        0,
        TIME_LIMIT_S - 1,
        required=True,
        attribute="start_s",
        error_messages={"required": _ABSENT},
    )
    end_time = _Integer(1, TIME_LIMIT_S, attribute="end_s", load_default=None)
    bucket_width = _Width(attribute="width", load_default=WIDTHS["1d"])
    project_ids = _Texts(load_default=None)
    user_ids = _Texts(load_default=None)
    api_key_ids = _Texts(load_default=None)
    models = _Models(load_default=None)
    batch = _Flag(load_default=None)
    group_by = _GroupBy(load_default=frozenset())
    limit = _Integer(1, max(w.largest_limit for w in WIDTHS.values()), load_default=None)
    page = _Scalar(load_default=None)

    @validates_schema(skip_on_field_errors=True)
    def _check_together(self, values: Mapping[str, Any], **_: Any) -> None:
        end_s, limit, width = values["end_s"], values["limit"], values["width"]
        if end_s is not None and end_s <= values["start_s"]:
            raise ValidationError([Problem(VALUE, "must be after `start_time`")], "end_time")
        if limit is not None and limit > width.largest_limit:
            sentence = f"must be from 1 to {width.largest_limit} for this `bucket_width`"
            raise ValidationError([Problem(VALUE, sentence)], "limit")

    @post_load
    def _build(self, values: dict[str, Any], **_: Any) -> UsageParams:
        return UsageParams(**values | {"limit": values["limit"] or values["width"].default_limit})


_SCHEMA = UsageParamsSchema()
_ARRAYS = frozenset(n for n, f in _SCHEMA.fields.items() if isinstance(f, _Texts))
