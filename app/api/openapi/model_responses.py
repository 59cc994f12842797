"""The schemas of models, for the API's description only. The rates have OpenRouter's names."""

from marshmallow import Schema, fields

from app.api.openapi.response_parts import constant, count, described, string


def _rate(description: str) -> fields.String:
    return fields.String(metadata=described(description))


class Rates(Schema):
    """What a unit costs, in dollars, as a decimal. A rate that is unknown is left out."""

    prompt = string("Dollars per prompt token, as a decimal: `0.00000015`.")
    completion = string("Dollars per completion token.")
    input_cache_read = _rate("Dollars per token read from the vendor's cache.")
    input_cache_write = _rate("Dollars per token written to the vendor's cache.")
    input_cache_write_1h = _rate("Dollars per token written to the vendor's cache for an hour.")
    internal_reasoning = _rate("Dollars per token of reasoning.")
    audio = _rate("Dollars per token of sound in the prompt.")
    audio_output = _rate("Dollars per token of sound in the completion.")
    image_token = _rate("Dollars per token of an image in the prompt.")
    image_output = _rate("Dollars per token of an image that the model draws.")
    web_search = _rate("Dollars per web search.")


class RatesAbove(Rates):
    """The rates of requests with a longer prompt, which apply to all their tokens."""

    above_prompt_tokens = count("The prompt has more tokens than this.")


class ModelPricing(Rates):
    """A model's standard price now."""

    tiers = fields.List(
        fields.Nested(RatesAbove),
        metadata=described("The rates for longer prompts, if they are others."),
    )


class Model(Schema):
    """A model, or a pattern of models."""

    id = string("`vendor/name`, or `vendor/*` for any name that the vendor knows.")
    object = constant("model")
    created = count("0: unknown.")
    owned_by = string("The vendor.")
    name = string("The id.")
    description = string("How to name a model, for a pattern; empty for a model.")
    model_vendor = string("The vendor.")
    status = constant("ready")
    endpoints = fields.Dict(
        keys=fields.String(),
        values=fields.List(fields.String()),
        required=True,
        metadata=described(
            "The paths at which the model can be called, each with the optional parameters that"
            " are sent to the vendor."
        ),
    )
    supported_parameters = fields.List(
        fields.String(),
        required=True,
        metadata=described("The parameters of all endpoints together."),
    )
    context_length = fields.Integer(
        required=True,
        allow_none=True,
        metadata=described("The most tokens of prompt and completion; null if unknown."),
    )
    pricing = fields.Nested(
        ModelPricing,
        required=True,
        allow_none=True,
        metadata=described("The price; null if it is unknown, and for a pattern."),
    )


class ModelList(Schema):
    """The models of this installation; `items` equals `data`."""

    object = constant("list")
    data = fields.List(fields.Nested(Model), required=True, metadata=described("The models."))
    items = fields.List(fields.Nested(Model), required=True, metadata=described("The models."))
    has_more = fields.Boolean(
        required=True, metadata=described("Whether another page follows in the same direction.")
    )
