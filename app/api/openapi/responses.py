"""The schemas of responses, for the API's description only.

Responses are built by hand, because a schema would cost time in every chunk of a stream. Tests
validate responses against these schemas. Source: OpenAI's descriptions of the same objects.
"""

from typing import Any, get_args

from marshmallow import Schema, fields, validate

from app.vocabulary.completion import FinishReason


def _constant(value: str) -> fields.String:
    return fields.String(required=True, validate=validate.Equal(value))


def _count(description: str, **kwargs: Any) -> fields.Integer:
    return fields.Integer(
        required=True,
        validate=validate.Range(min=0),
        metadata={"description": description},
        **kwargs,
    )


def _text(description: str, **kwargs: Any) -> fields.String:
    return fields.String(required=True, metadata={"description": description}, **kwargs)


class Fault(Schema):
    """One of several faults of a request."""

    message = _text("A message for people.")
    param = _text("The invalid parameter.", allow_none=True)
    code = _text("A stable code for programs.", allow_none=True)


class ErrorDetail(Schema):
    """What went wrong."""

    message = _text("A message for people.")
    type = _text("The kind of error.")
    param = _text("The invalid parameter, as in `stop[2]`.", allow_none=True)
    code = _text("A stable code for programs.", allow_none=True)
    request_id = _text("The request's id, as in the header `x-request-id`.")
    doc_url = _text("The page that explains the code, and who has to act.")
    details = fields.List(
        fields.Nested(Fault),
        metadata={"description": "All faults of a request that has several."},
    )


class Error(Schema):
    """Every error, on every route."""

    error = fields.Nested(ErrorDetail, required=True)


class PromptTokensDetails(Schema):
    """Parts of `prompt_tokens`."""

    cached_tokens = _count("Read from the vendor's cache.")
    audio_tokens = _count("Audio.")


class CompletionTokensDetails(Schema):
    """Parts of `completion_tokens`."""

    reasoning_tokens = _count("Reasoning, which is not in the text.")
    audio_tokens = _count("Audio.")
    accepted_prediction_tokens = _count("Accepted from a prediction.")
    rejected_prediction_tokens = _count("Rejected from a prediction.")


class CompletionUsage(Schema):
    """The tokens of one request, for all its prompts and choices."""

    prompt_tokens = _count("Prompt tokens.")
    completion_tokens = _count("Completion tokens.")
    total_tokens = _count("The sum of both.")
    prompt_tokens_details = fields.Nested(PromptTokensDetails, required=True)
    completion_tokens_details = fields.Nested(CompletionTokensDetails, required=True)


class ChoiceSchema(Schema):
    """One choice; in a stream, one delta of it."""

    index = _count("The prompt's index times `n`, plus the sample's index.")
    text = _text("What the model wrote.")
    logprobs = fields.Dict(required=True, allow_none=True)
    finish_reason = fields.String(
        required=True,
        allow_none=True,
        validate=validate.OneOf(get_args(FinishReason)),
        metadata={"description": "Why the choice ended; null before its last chunk."},
    )
    native_finish_reason = fields.String(
        metadata={"description": "The vendor's reason, if `finish_reason` has no equivalent."}
    )


class CompletionSchema(Schema):
    """A completion, or one chunk of a stream."""

    id = _text("The vendor's id; Tollgate's if the vendor sends none.")
    object = _constant("text_completion")
    created = _count("Unix seconds.")
    model = _text("The model that the vendor reports.")
    choices = fields.List(fields.Nested(ChoiceSchema), required=True)
    usage = fields.Nested(CompletionUsage)
    system_fingerprint = fields.String()
    service_tier = fields.String(
        metadata={"description": "The service tier that the vendor reports."}
    )


class Model(Schema):
    """A model, or a pattern of models."""

    id = _text("`vendor/name`, or `vendor/*` for any name that the vendor knows.")
    object = _constant("model")
    created = _count("0: unknown.")
    owned_by = _text("The vendor.")
    name = _text("The id.")
    model_vendor = _text("The vendor.")
    status = _constant("ready")


class ModelList(Schema):
    """The models of this installation; `items` equals `data`."""

    object = _constant("list")
    data = fields.List(fields.Nested(Model), required=True)
    items = fields.List(fields.Nested(Model), required=True)
    has_more = fields.Boolean(required=True)


class UsageResult(Schema):
    """The usage of one bucket, or of one group in it. Fields that are not grouped by are null."""

    object = _constant("organization.usage.completions.result")
    input_tokens = _count("Prompt tokens, including cached ones.")
    output_tokens = _count("Completion tokens.")
    input_cached_tokens = _count("Input tokens read from a vendor's cache.")
    input_cache_write_tokens = _count("Input tokens written to a vendor's cache.")
    input_uncached_tokens = _count("All other input tokens.")
    input_audio_tokens = _count("Audio tokens of the input.")
    output_audio_tokens = _count("Audio tokens of the output.")
    num_model_requests = _count("All recorded requests, including failed ones.")
    failed_requests = _count("Those of them that failed, or whose response was cut short.")
    project_id = _text("The account.", allow_none=True)
    user_id = _text("The request's `user`.", allow_none=True)
    api_key_id = _text("The key's id.", allow_none=True)
    model = _text("`vendor/name`.", allow_none=True)
    batch = fields.Boolean(required=True, allow_none=True)
    service_tier = fields.String(required=True, allow_none=True)
    api_source = fields.String(required=True, allow_none=True)


class UsageBucket(Schema):
    """A time range; empty buckets are included."""

    object = _constant("bucket")
    start_time = _count("Unix seconds.")
    end_time = _count("Unix seconds (exclusive).")
    results = fields.List(fields.Nested(UsageResult), required=True)


class UsagePage(Schema):
    """A page of buckets."""

    object = _constant("page")
    data = fields.List(fields.Nested(UsageBucket), required=True)
    has_more = fields.Boolean(required=True)
    next_page = _text(
        "Send it as `page` with the same query to get the next page.", allow_none=True
    )


class RefusalsResult(Schema):
    """The refused requests of one bucket, or of one group in it."""

    object = _constant("organization.usage.refusals.result")
    num_refused_requests = _count("Requests that were refused before any vendor was called.")
    project_id = _text("The account; empty if the request did not tell it.", allow_none=True)
    api_key_id = _text("The key's id; empty if the key is not known.", allow_none=True)
    endpoint = _text("`completions`; empty if the input was not valid HTTP.", allow_none=True)
    reason = _text(
        "The error's code. For limits with the limit that was reached, as in"
        " `rate_limit_exceeded/key/requests_per_minute`.",
        allow_none=True,
    )


class RefusalsBucket(Schema):
    """A time range; empty buckets are included."""

    object = _constant("bucket")
    start_time = _count("Unix seconds.")
    end_time = _count("Unix seconds (exclusive).")
    results = fields.List(fields.Nested(RefusalsResult), required=True)


class RefusalsPage(Schema):
    """A page of buckets."""

    object = _constant("page")
    data = fields.List(fields.Nested(RefusalsBucket), required=True)
    has_more = fields.Boolean(required=True)
    next_page = _text(
        "Send it as `page` with the same query to get the next page.", allow_none=True
    )


class Amount(Schema):
    """Money, exact to a billionth of a dollar."""

    value = fields.Float(
        required=True,
        allow_none=True,
        metadata={
            "description": "Null if the amount would be 0 and some requests have no known price."
        },
    )
    currency = _constant("usd")


class CostsResult(Schema):
    """The costs of one bucket, or of one group in it."""

    object = _constant("organization.costs.result")
    amount = fields.Nested(Amount, required=True)
    line_item = _text("`vendor/name`.", allow_none=True)
    project_id = _text("The account.", allow_none=True)
    user_id = _text("The request's `user`.", allow_none=True)
    api_key_id = _text("The key's id.", allow_none=True)
    api_source = fields.String(required=True, allow_none=True)
    quantity = fields.Integer(required=True, allow_none=True)
    quantity_unit = _text("`tokens` if grouped by line item.", allow_none=True)
    unpriced_requests = _count("Requests without a known price, which the amount leaves out.")


class CostsBucket(Schema):
    """A time range; empty buckets are included."""

    object = _constant("bucket")
    start_time = _count("Unix seconds.")
    end_time = _count("Unix seconds (exclusive).")
    results = fields.List(fields.Nested(CostsResult), required=True)


class CostsPage(Schema):
    """A page of buckets."""

    object = _constant("page")
    data = fields.List(fields.Nested(CostsBucket), required=True)
    has_more = fields.Boolean(required=True)
    next_page = _text(
        "Send it as `page` with the same query to get the next page.", allow_none=True
    )
