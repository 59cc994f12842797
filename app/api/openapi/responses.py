"""The shapes of answers, as schemas for the API's description.

Answers are written by hand elsewhere, since every chunk of a stream pays for it; tests hold what is
sent against these. Source: OpenAI's descriptions of the same objects.
"""

from typing import Any, get_args

from marshmallow import Schema, fields, validate

from app.vocabulary.completion import FinishReason


def _constant(value: str) -> fields.String:
    return fields.String(required=True, validate=validate.Equal(value))


def _count(says: str, **kwargs: Any) -> fields.Integer:
    return fields.Integer(
        required=True, validate=validate.Range(min=0), metadata={"description": says}, **kwargs
    )


def _text(says: str, **kwargs: Any) -> fields.String:
    return fields.String(required=True, metadata={"description": says}, **kwargs)


class ErrorDetail(Schema):
    """What went wrong."""

    message = _text("For people.")
    type = _text("The family of the error.")
    param = _text("The parameter that is wrong, as in `stop[2]`.", allow_none=True)
    code = _text("Stable, for programs.", allow_none=True)


class Error(Schema):
    """Every error, on every route."""

    error = fields.Nested(ErrorDetail, required=True)


class PromptTokensDetails(Schema):
    """Parts of `prompt_tokens`."""

    cached_tokens = _count("Read from the vendor's cache.")
    audio_tokens = _count("Audio.")


class CompletionTokensDetails(Schema):
    """Parts of `completion_tokens`."""

    reasoning_tokens = _count("What the model thought, which is not in the text.")
    audio_tokens = _count("Audio.")
    accepted_prediction_tokens = _count("Of a prediction, used.")
    rejected_prediction_tokens = _count("Of a prediction, not used.")


class CompletionUsage(Schema):
    """The tokens of one request, over all its prompts and choices."""

    prompt_tokens = _count("Read.")
    completion_tokens = _count("Written.")
    total_tokens = _count("Both.")
    prompt_tokens_details = fields.Nested(PromptTokensDetails, required=True)
    completion_tokens_details = fields.Nested(CompletionTokensDetails, required=True)


class Choice(Schema):
    """One alternative; in a stream, one piece of it."""

    index = _count("Which: the prompt's number times `n`, plus the sample's.")
    text = _text("What the model wrote.")
    logprobs = fields.Dict(required=True, allow_none=True)
    finish_reason = fields.String(
        required=True,
        allow_none=True,
        validate=validate.OneOf(get_args(FinishReason)),
        metadata={"description": "Why it ended; null before the last piece of a stream."},
    )
    native_finish_reason = fields.String(
        metadata={"description": "The vendor's word, where `finish_reason` does not say it."}
    )


class Completion(Schema):
    """An answer, or one chunk of a streamed one."""

    id = _text("The vendor's id, or ours where it has none.")
    object = _constant("text_completion")
    created = _count("Unix seconds.")
    model = _text("The name that the vendor served.")
    choices = fields.List(fields.Nested(Choice), required=True)
    usage = fields.Nested(CompletionUsage)
    system_fingerprint = fields.String()
    service_tier = fields.String(metadata={"description": "The vendor's word for how it served."})


class Model(Schema):
    """What may be asked for."""

    id = _text("`vendor/name`, or `vendor/*` for any name that the vendor knows.")
    object = _constant("model")
    created = _count("0: not known.")
    owned_by = _text("The vendor.")
    name = _text("The id.")
    model_vendor = _text("The vendor.")
    status = _constant("ready")


class ModelList(Schema):
    """What this deployment can call; `items` is the same as `data`."""

    object = _constant("list")
    data = fields.List(fields.Nested(Model), required=True)
    items = fields.List(fields.Nested(Model), required=True)
    has_more = fields.Boolean(required=True)


class UsageResult(Schema):
    """The sum of one bucket, or of one group in it; what is not grouped by is null."""

    object = _constant("organization.usage.completions.result")
    input_tokens = _count("Prompt tokens, cached ones included.")
    output_tokens = _count("Completion tokens.")
    input_cached_tokens = _count("Of the input, read from a vendor's cache.")
    input_cache_write_tokens = _count("Of the input, written to a vendor's cache.")
    input_uncached_tokens = _count("The rest of the input.")
    input_audio_tokens = _count("Of the input, audio.")
    output_audio_tokens = _count("Of the output, audio.")
    num_model_requests = _count("Requests that did not fail.")
    project_id = _text("The account.", allow_none=True)
    user_id = _text("What the caller sent as `user`.", allow_none=True)
    api_key_id = _text("The key's id.", allow_none=True)
    model = _text("`vendor/name`.", allow_none=True)
    batch = fields.Boolean(required=True, allow_none=True)
    service_tier = fields.String(required=True, allow_none=True)
    api_source = fields.String(required=True, allow_none=True)


class UsageBucket(Schema):
    """A stretch of time; empty ones are kept."""

    object = _constant("bucket")
    start_time = _count("Unix seconds.")
    end_time = _count("Unix seconds, not included.")
    results = fields.List(fields.Nested(UsageResult), required=True)


class UsagePage(Schema):
    """Some buckets, and where the next ones are."""

    object = _constant("page")
    data = fields.List(fields.Nested(UsageBucket), required=True)
    has_more = fields.Boolean(required=True)
    next_page = _text("To be sent as `page`, with the same query.", allow_none=True)


class Amount(Schema):
    """Money, exact to a billionth of a dollar."""

    value = fields.Float(
        required=True,
        allow_none=True,
        metadata={"description": "Null where some have no known price, and all others cost 0."},
    )
    currency = _constant("usd")


class CostsResult(Schema):
    """What the requests of a bucket cost, or of one group in it."""

    object = _constant("organization.costs.result")
    amount = fields.Nested(Amount, required=True)
    line_item = _text("`vendor/name`.", allow_none=True)
    project_id = _text("The account.", allow_none=True)
    user_id = _text("What the caller sent as `user`.", allow_none=True)
    api_key_id = _text("The key's id.", allow_none=True)
    api_source = fields.String(required=True, allow_none=True)
    quantity = fields.Integer(required=True, allow_none=True)
    quantity_unit = _text("`tokens`, of a line item.", allow_none=True)
    unpriced_requests = _count("Requests that are not in the amount: their price is not known.")


class CostsBucket(Schema):
    """A stretch of time; empty ones are kept."""

    object = _constant("bucket")
    start_time = _count("Unix seconds.")
    end_time = _count("Unix seconds, not included.")
    results = fields.List(fields.Nested(CostsResult), required=True)


class CostsPage(Schema):
    """Some buckets, and where the next ones are."""

    object = _constant("page")
    data = fields.List(fields.Nested(CostsBucket), required=True)
    has_more = fields.Boolean(required=True)
    next_page = _text("To be sent as `page`, with the same query.", allow_none=True)
