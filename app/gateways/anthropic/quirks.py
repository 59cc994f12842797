"""The keys of an Anthropic entry's `quirks`, and the rules for single models in them."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from marshmallow import fields, validate

from app.gateways.conversation.origins import SIGNATURES
from app.vendors.model_rules import MODELS, rules_of
from app.vendors.vendor import Vendor

QUIRKS: Mapping[str, fields.Field[Any]] = {
    # the `anthropic-version` header
    "version": fields.String(required=True),
    # the format requires max_tokens: sent if the caller sets none, in chat if the model's `sends`
    # has none either
    "default_max_tokens": fields.Integer(
        required=True, strict=True, validate=validate.Range(min=1)
    ),
    # globs of models that reject temperature and top_p
    "no_sampling": fields.List(fields.String(), load_default=list),
    # the name of those whose signatures it accepts
    "signatures": SIGNATURES,
    # the type of the vendor's own tool for `web_search_options`
    "web_search": fields.String(),
    # rules for models by glob; `efforts` are words of `output_config.effort`, budgets in tokens,
    # or 0: no thinking; `traits` are the names below
    "models": MODELS,
}

#: Traits, beside `NO_PREFILL`: the model rejects a forced call of a tool.
NO_FORCED_TOOLS = "no_forced_tools"
#: It takes instructions in the middle of a conversation.
LATER_SYSTEM = "later_system"
#: It follows a JSON Schema, in replies and in strict tools.
STRUCTURED = "structured"


def has(vendor: Vendor, trait: str, model_name: str) -> bool:
    """Whether the vendor entry gives a model this trait."""
    return trait in rules_of(vendor, model_name).traits


def rejects_sampling(vendor: Vendor, model_name: str) -> bool:
    """Whether a model rejects temperature and top_p."""
    return any(fnmatchcase(model_name, glob) for glob in vendor.quirks["no_sampling"])
