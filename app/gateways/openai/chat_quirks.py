"""How a vendor's chat differs from OpenAI's: the keys of an entry's `quirks.chat` table."""

import re
from collections.abc import Mapping
from typing import Any

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from app.gateways.openai.dialects import DIALECTS
from app.vendors.model_rules import ModelRules
from app.vendors.vendor import Vendor
from app.vocabulary.chat.parameters import ALL_PARAMETERS


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as exc:
        raise ValidationError("Not a valid regular expression.") from exc


class _BoundField(fields.Float):
    """A bound of a range, which may be infinite."""

    def _deserialize(self, *args: Any, **kwargs: Any) -> float:
        bound = super()._deserialize(*args, **kwargs)
        return int(bound) if bound.is_integer() else bound  # as messages show it


class _CallIdsSchema(Schema):
    class Meta:
        unknown = RAISE

    pattern = fields.String(required=True, validate=_check_pattern)
    length = fields.Integer(required=True, strict=True, validate=validate.Range(min=8, max=40))


class _ChatSchema(Schema):
    class Meta:
        unknown = RAISE

    # whether it knows the role `developer`, which others get as `system`
    developer = fields.Boolean()
    # false: it ignores the parameters of OpenAI's own services
    services = fields.Boolean()
    # whether it knows cache marks (`cache_control`), which others do not get
    cache_control = fields.Boolean()
    # the fields of its own replies that it accepts in later requests (absent: all of them)
    replays = fields.List(fields.String())
    # whether a reply with tool calls must come back with its reasoning, even if that is empty
    needs_reasoning = fields.Boolean()
    # the form of its ids of tool calls; other ids are replaced by a digest of `length` characters
    call_ids = fields.Nested(_CallIdsSchema)
    # false: only a tool's message has a `name`; others go without, and the header says so
    names = fields.Boolean()
    # false: it rejects an assistant's message without content and calls, so it does not get any
    empty_replies = fields.Boolean()
    # the types of parts that it accepts (absent: it decides itself)
    parts = fields.List(fields.String())
    # false: it accepts images only as data: URLs
    image_urls = fields.Boolean()
    # the words of an image's `detail` that it knows (absent: it decides itself)
    details = fields.List(fields.String())
    # false: content that is only texts goes as one string
    text_parts = fields.Boolean()
    # false: it has no place for refusals, which go as text
    refusals = fields.Boolean()
    # the types of tools that it accepts (absent: it decides itself)
    tools = fields.List(fields.String())
    # false: it does not know `strict` tools; they go without, and the header says so
    strict_tools = fields.Boolean()
    # the kinds of `tool_choice` that it supports (absent: all)
    tool_choices = fields.List(
        fields.String(validate=validate.OneOf(["none", "auto", "required", "named", "allowed"]))
    )
    # the words of `service_tier` that it knows (absent: it decides itself)
    service_tiers = fields.List(fields.String())
    # the least and the largest value of numbers that it accepts (absent: it decides itself)
    ranges = fields.Dict(
        keys=fields.String(validate=validate.OneOf(ALL_PARAMETERS)),
        values=fields.Tuple((_BoundField(allow_nan=True), _BoundField(allow_nan=True))),
    )
    # the types of `response_format` that it supports (absent: it decides itself)
    formats = fields.List(fields.String())
    # false: `response_format` and tools exclude each other
    format_with_tools = fields.Boolean()
    # whether `logprobs` is the number of alternatives
    integer_logprobs = fields.Boolean()
    # another form of messages and formats
    dialect = fields.String(validate=validate.OneOf(sorted(DIALECTS)))


#: The trait of a model that cannot be forced to call a tool while it reasons, which it does unless
#: the request turns it off: its `without_reasoning` says how.
FORCED_WITHOUT_REASONING = "forced_without_reasoning"

#: The `chat` table of a vendor's quirks.
CHAT = fields.Nested(_ChatSchema)


#: Parameters of OpenAI's own services, and old ones: other servers ignore what they do not know.
SERVICES = frozenset(
    {
        "audio",
        "function_call",
        "functions",
        "metadata",
        "modalities",
        "moderation",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "verbosity",
        "web_search_options",
    }
)


def unsupported_in_chat(vendor: Vendor, rules: ModelRules) -> frozenset[str]:
    """Return the parameters that a vendor's chat does not support."""
    names = vendor.unsupported | rules.unsupported
    if "logprobs" in names:
        names |= {"top_logprobs"}
    return names if ways_of(vendor).get("services", True) else names | SERVICES


def ways_of(vendor: Vendor) -> Mapping[str, Any]:
    """Return a vendor's `quirks.chat`."""
    ways: Mapping[str, Any] = vendor.quirks.get("chat", {})
    return ways
