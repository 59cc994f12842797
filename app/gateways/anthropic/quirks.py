"""The keys of an Anthropic entry's `quirks`, and the rules for single models in them."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from marshmallow import fields, validate

from app.vendors.model_rules import MODELS
from app.vendors.vendor import Vendor

QUIRKS: Mapping[str, fields.Field[Any]] = {
    # the `anthropic-version` header
    "version": fields.String(required=True),
    # sent if neither the caller nor the model's `sends` sets max_tokens, which the format requires
    "default_max_tokens": fields.Integer(
        required=True, strict=True, validate=validate.Range(min=1)
    ),
    # globs of models that reject temperature and top_p
    "no_sampling": fields.List(fields.String(), load_default=list),
    # globs of models that do not continue an assistant's last message
    "no_prefill": fields.List(fields.String(), load_default=list),
    # globs of models that reject a forced call of a tool
    "no_forced_tools": fields.List(fields.String(), load_default=list),
    # globs of models that follow a JSON Schema, in replies and in strict tools
    "structured": fields.List(fields.String(), load_default=list),
    # the type of the vendor's own tool for `web_search_options`
    "web_search": fields.String(),
    # rules for models by glob; `efforts` are words of `output_config.effort`, budgets in tokens,
    # or 0: no thinking
    "models": MODELS,
}


def has(vendor: Vendor, quirk: str, model_name: str) -> bool:
    """Whether one of a quirk's globs matches a model."""
    return any(fnmatchcase(model_name, glob) for glob in vendor.quirks.get(quirk, ()))
