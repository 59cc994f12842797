"""Fields that the schemas of responses are made of, and the usage that both completions have."""

from typing import Any

from marshmallow import Schema, fields, validate


def constant(value: str) -> fields.String:
    """Return a field that always has this value."""
    return fields.String(required=True, validate=validate.Equal(value))


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
    prompt_tokens_details = fields.Nested(PromptTokensDetails, required=True)
    completion_tokens_details = fields.Nested(CompletionTokensDetails, required=True)
