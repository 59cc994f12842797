"""Fields that the schemas of responses are made of, and the usage that both completions have."""

from typing import Any, get_args

from marshmallow import Schema, fields, validate

from app.vocabulary.completion import FinishReason

#: What `model` is, in answers.
MODEL = "The vendor that served the request, and its name of the model; it can be sent back."


def described(description: str) -> dict[str, str]:
    """Return the `metadata` of a field with a description."""
    return {"description": description}


def constant(value: str) -> fields.String:
    """Return a field that always has this value."""
    description = f"Always `{value}`."
    return fields.String(
        required=True, validate=validate.Equal(value), metadata=described(description)
    )


def count(description: str, **kwargs: Any) -> fields.Integer:
    """Return a field with a number of at least 0."""
    return fields.Integer(
        required=True,
        validate=validate.Range(min=0),
        metadata={"description": description},
        **kwargs,
    )


def string(description: str, **kwargs: Any) -> fields.String:
    """Return a field with a text."""
    return fields.String(required=True, metadata={"description": description}, **kwargs)


class EndedChoice(Schema):
    """How a choice ended."""

    finish_reason = fields.String(
        required=True,
        allow_none=True,
        validate=validate.OneOf(get_args(FinishReason)),
        metadata={"description": "Why the choice ended; null before its last chunk."},
    )
    native_finish_reason = fields.String(
        metadata={"description": "The vendor's reason, if `finish_reason` has no equivalent."}
    )


class PromptTokensDetails(Schema):
    """Parts of `prompt_tokens`."""

    cached_tokens = count("Read from the vendor's cache.")
    audio_tokens = count("Audio.")


class CompletionTokensDetails(Schema):
    """Parts of `completion_tokens`."""

    reasoning_tokens = count("Reasoning, which is not in the text.")
    audio_tokens = count("Audio.")
    accepted_prediction_tokens = count("Accepted from a prediction.")
    rejected_prediction_tokens = count("Rejected from a prediction.")


class CompletionUsage(Schema):
    """The tokens of one request, for all its prompts and choices."""

    prompt_tokens = count("Prompt tokens.")
    completion_tokens = count("Completion tokens.")
    total_tokens = count("The sum of both.")
    prompt_tokens_details = fields.Nested(
        PromptTokensDetails, required=True, metadata=described("Parts of the prompt's tokens.")
    )
    completion_tokens_details = fields.Nested(
        CompletionTokensDetails,
        required=True,
        metadata=described("Parts of the completion's tokens."),
    )
    cost = fields.Float(
        allow_none=True,
        metadata=described(
            "The cost in dollars, as it is booked; null if it is unknown. Only if the request's"
            " header `x-tollgate-include-cost` is `true`."
        ),
    )
