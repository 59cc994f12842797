"""The schemas of responses, for the API's description only.

Responses are built by hand, because a schema would cost time in every chunk of a stream. Tests
validate responses against these schemas. Source: OpenAI's descriptions of the same objects.
"""

from marshmallow import Schema, fields

from app.api.openapi.response_parts import (
    MODEL,
    CompletionUsage,
    EndedChoice,
    constant,
    count,
    string,
)


class Fault(Schema):
    """One of several faults of a request."""

    message = string("A message for people.")
    param = string("The invalid parameter.", allow_none=True)
    code = string("A stable code for programs.", allow_none=True)


class ErrorDetail(Schema):
    """What went wrong."""

    message = string("A message for people.")
    type = string("The kind of error.")
    param = string("The invalid parameter, as in `stop[2]`.", allow_none=True)
    code = string("A stable code for programs.", allow_none=True)
    request_id = string("The request's id, as in the header `x-request-id`.")
    doc_url = string("The page that explains the code, and who has to act.")
    details = fields.List(
        fields.Nested(Fault),
        metadata={"description": "All faults of a request that has several."},
    )


class Error(Schema):
    """Every error, on every route."""

    error = fields.Nested(ErrorDetail, required=True)


class ChoiceSchema(EndedChoice):
    """One choice; in a stream, one delta of it."""

    index = count("The prompt's index times `n`, plus the sample's index.")
    text = string("What the model wrote.")
    logprobs = fields.Dict(required=True, allow_none=True)


class CompletionSchema(Schema):
    """A completion, or one chunk of a stream."""

    id = string("The vendor's id; Tollgate's if the vendor sends none.")
    object = constant("text_completion")
    created = count("Unix seconds.")
    model = string(MODEL)
    choices = fields.List(fields.Nested(ChoiceSchema), required=True)
    usage = fields.Nested(CompletionUsage)
    system_fingerprint = fields.String()
    service_tier = fields.String(
        metadata={"description": "The service tier that the vendor reports."}
    )


class UsageResult(Schema):
    """The usage of one bucket, or of one group in it. Fields that are not grouped by are null."""

    object = constant("organization.usage.completions.result")
    input_tokens = count("Prompt tokens, including cached ones.")
    output_tokens = count("Completion tokens.")
    input_cached_tokens = count("Input tokens read from a vendor's cache.")
    input_cache_write_tokens = count("Input tokens written to a vendor's cache.")
    input_uncached_tokens = count("All other input tokens.")
    input_audio_tokens = count("Audio tokens of the input.")
    output_audio_tokens = count("Audio tokens of the output.")
    input_image_tokens = count("Image tokens of the input.")
    output_image_tokens = count("Image tokens of the output.")
    input_cache_write_1h_tokens = count("Of those written to a cache, those kept for an hour.")
    web_search_calls = count("Web searches that vendors ran and bill one by one.")
    num_model_requests = count("All recorded requests, including failed ones.")
    failed_requests = count("Those of them that failed, or whose response was cut short.")
    project_id = string("The account.", allow_none=True)
    user_id = string("The request's `user`.", allow_none=True)
    api_key_id = string("The key's id.", allow_none=True)
    model = string("`vendor/name`.", allow_none=True)
    endpoint = string("`completions` or `chat.completions`.", allow_none=True)
    batch = fields.Boolean(required=True, allow_none=True)
    service_tier = fields.String(required=True, allow_none=True)
    api_source = fields.String(required=True, allow_none=True)


class UsageBucket(Schema):
    """A time range; empty buckets are included."""

    object = constant("bucket")
    start_time = count("Unix seconds.")
    end_time = count("Unix seconds (exclusive).")
    results = fields.List(fields.Nested(UsageResult), required=True)


class UsagePage(Schema):
    """A page of buckets."""

    object = constant("page")
    data = fields.List(fields.Nested(UsageBucket), required=True)
    has_more = fields.Boolean(required=True)
    next_page = string(
        "Send it as `page` with the same query to get the next page.", allow_none=True
    )


class RefusalsResult(Schema):
    """The refused requests of one bucket, or of one group in it."""

    object = constant("organization.usage.refusals.result")
    num_refused_requests = count("Requests that were refused before any vendor was called.")
    project_id = string("The account; empty if the request did not tell it.", allow_none=True)
    api_key_id = string("The key's id; empty if the key is not known.", allow_none=True)
    endpoint = string(
        "`completions` or `chat.completions`; empty if the input was not valid HTTP.",
        allow_none=True,
    )
    reason = string(
        "The error's code. For limits with the limit that was reached, as in"
        " `rate_limit_exceeded/key/requests_per_minute`.",
        allow_none=True,
    )


class RefusalsBucket(Schema):
    """A time range; empty buckets are included."""

    object = constant("bucket")
    start_time = count("Unix seconds.")
    end_time = count("Unix seconds (exclusive).")
    results = fields.List(fields.Nested(RefusalsResult), required=True)


class RefusalsPage(Schema):
    """A page of buckets."""

    object = constant("page")
    data = fields.List(fields.Nested(RefusalsBucket), required=True)
    has_more = fields.Boolean(required=True)
    next_page = string(
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
    currency = constant("usd")


class CostsResult(Schema):
    """The costs of one bucket, or of one group in it."""

    object = constant("organization.costs.result")
    amount = fields.Nested(Amount, required=True)
    line_item = string("`vendor/name`.", allow_none=True)
    project_id = string("The account.", allow_none=True)
    user_id = string("The request's `user`.", allow_none=True)
    api_key_id = string("The key's id.", allow_none=True)
    endpoint = string("`completions` or `chat.completions`.", allow_none=True)
    api_source = fields.String(required=True, allow_none=True)
    quantity = fields.Integer(required=True, allow_none=True)
    quantity_unit = string("`tokens` if grouped by line item.", allow_none=True)
    unpriced_requests = count("Requests without a known price, which the amount leaves out.")


class CostsBucket(Schema):
    """A time range; empty buckets are included."""

    object = constant("bucket")
    start_time = count("Unix seconds.")
    end_time = count("Unix seconds (exclusive).")
    results = fields.List(fields.Nested(CostsResult), required=True)


class CostsPage(Schema):
    """A page of buckets."""

    object = constant("page")
    data = fields.List(fields.Nested(CostsBucket), required=True)
    has_more = fields.Boolean(required=True)
    next_page = string(
        "Send it as `page` with the same query to get the next page.", allow_none=True
    )
