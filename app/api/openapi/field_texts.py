"""What each field inside of requests and responses is, and what puts these texts beside the fields.

A text applies to every field of its name; `owner.name` to that of one schema or object alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

#: Names that are read in many places.
_COMMON = {
    "model": "The model, as `vendor/name`.",
    "usage": "The tokens used.",
    "choices": "One for each sample of each prompt.",
    "system_fingerprint": "The vendor's fingerprint of its backend.",
    "has_more": "Whether another page follows.",
    "results": "One result for each group; [] if nothing was used.",
    "error": "What went wrong.",
    "name": "The name.",
    "type": "The kind of value; the field of the same name holds it.",
    "role": "Who wrote the message.",
    "content": "The text, or its parts.",
    "text": "A text.",
    "refusal": "A text with which the model refused.",
    "reasoning_content": "The model's reasoning.",
    "tool_calls": "The model's calls of tools.",
    "tool_call_id": "The id of the call whose result this is.",
    "function": "The function.",
    "custom": "The custom tool.",
    "description": "What it does, for the model.",
    "parameters": "The arguments, as a JSON Schema.",
    "strict": "Whether the model must follow the schema exactly.",
    "schema": "The JSON Schema of the reply.",
    "arguments": "The arguments, as JSON in a text.",
    "input": "The input, as a text.",
    "id": "The id.",
    "image_url": "An image.",
    "url": "An `https:` URL, or a `data:` URL with the content in Base64.",
    "detail": "How closely the model looks at the image.",
    "input_audio": "A sound.",
    "format": "The format of the sound.",
    "voice": "The voice, by its name or its id.",
    "file": "A file.",
    "file_data": "The content, as a `data:` URL.",
    "file_id": "The vendor's id of a file that it has.",
    "filename": "The file's name.",
    "mode": "How it is applied.",
    "policy": "What happens to a text that is found to be harmful.",
    "output": "What applies to the reply.",
    "ttl": "How long the cache is kept.",
    "json_schema": "The schema of the reply, and its name.",
    "allowed_tools": "The tools that the model may choose from.",
    "tools": "The tools.",
    "search_context_size": "How much of what is found the model reads.",
    "user_location": "Where your user is.",
    "approximate": "The place, as far as it is to be told.",
    "city": "The city.",
    "country": "The country's code of two letters.",
    "region": "The region.",
    "timezone": "The time zone, from the IANA database.",
    "include_usage": "Add a last chunk with the tokens used.",
    "include_obfuscation": "Whether the vendor may pad its chunks; it is forwarded.",
    "continuous_usage_stats": "Add the tokens used so far to every chunk.",
    "vendor": "The vendor.",
}

_ONE = {
    "prompt_tokens_details": "Parts of the prompt's tokens.",
    "completion_tokens_details": "Parts of the completion's tokens.",
    **dict.fromkeys(("UsagePage.data", "CostsPage.data", "RefusalsPage.data"), "The buckets."),
    "ChatModelList.items": "The models.",
    "input_audio.data": "The sound, in Base64.",
    "Completion.usage": "The tokens of all prompts and choices together.",
    "Choice.logprobs": "The log probabilities of the tokens; null unless requested.",
    "ChatChoice.logprobs": "The log probabilities of the tokens; null unless requested.",
    "ChatChunkChoice.logprobs": "The log probabilities of this delta's tokens.",
    "ChatLogprobs.content": "One for each token of the text.",
    "ChatLogprobs.refusal": "One for each token of the refusal.",
    "ChatChoice.message": "The reply.",
    "ChatChunkChoice.delta": "What is new of the reply.",
    "ChatCompletionChunk.usage": "Null, except in the last chunk; absent unless requested.",
    "CalledFunction.name": "The function's name.",
    "CalledCustomTool.name": "The tool's name.",
    "ChatToolCallDelta.id": "The call's id.",
    "ChatToolCallDelta.type": "`function` or `custom`.",
    "ChatDelta.role": "In the first delta of a choice.",
    "ChatDelta.content": "The next characters of the text.",
    "ChatDelta.refusal": "The next characters of a refusal.",
    "ChatDelta.reasoning_content": "The next characters of the model's reasoning.",
    "ChatDelta.tool_calls": "Pieces of calls of tools.",
    "ChatMessage.tool_calls": "The tools that the model calls.",
    "UsageResult.batch": "Always null or false: there are no batches.",
    "UsageResult.service_tier": "Always null.",
    "UsageResult.api_source": "Always null.",
    "CostsResult.api_source": "Always null.",
    "CostsResult.amount": "What the requests cost.",
    "CostsResult.quantity": "The tokens, if grouped by line item.",
    "input.mode": "`score` reports, `block` rejects.",
    "output.mode": "`score` reports, `block` rejects.",
    "moderation.model": "The vendor's model that checks.",
    "policy.input": "What applies to the messages.",
    "tool_choice.function": "The function that must be called.",
    "tool_choice.custom": "The custom tool that must be called.",
    "allowed_tools.mode": "`auto`: the model may call one of them. `required`: it must.",
    "messages.name": "Who wrote the message, if several have the role.",
    "prompt_cache_options.mode": "`explicit`: only what is marked is cached.",
    "prediction.content": "The text that the reply is expected to repeat.",
}

#: Of a request in the ledger, its calls and their attempts.
_RECORD = {
    "RequestRecord.object": "Always `organization.request`.",
    "event_id": "The id of the usage event.",
    "request_id": "The request's id, as in the header `x-request-id`.",
    "account_id": "The account that pays.",
    "api_key_id": "The key's id.",
    "user": "The request's `user`.",
    "endpoint": "`completions` or `chat.completions`.",
    "RequestRecord.vendor": "The requested vendor.",
    "RequestRecord.model": "The requested model, without the vendor.",
    "CallUsage.model": "The model that the call asked for.",
    "CallAttempt.model": "The model that the call asked for.",
    "vendor_served": "The vendor that was called last.",
    "model_served": "The vendor's name of the model that served.",
    "service_tier": "The vendor's word for how it served.",
    "stream": "Whether a stream was requested.",
    "status": "How the request ended, such as `completed` or `failed`.",
    "source": "Who counted the tokens, such as `vendor` or `estimated`.",
    "prompt_source": "Who counted the prompt's tokens.",
    "completion_source": "Who counted the completion's tokens.",
    "prompt_tokens": "Prompt tokens.",
    "completion_tokens": "Completion tokens.",
    "total_tokens": "The sum of both.",
    "cached_tokens": "Prompt tokens read from the vendor's cache.",
    "cache_write_tokens": "Prompt tokens written to the vendor's cache.",
    "cache_write_1h_tokens": "Of those, the tokens kept for an hour.",
    "reasoning_tokens": "Completion tokens of reasoning.",
    "audio_prompt_tokens": "Prompt tokens of sound.",
    "audio_completion_tokens": "Completion tokens of sound.",
    "image_prompt_tokens": "Prompt tokens of images.",
    "image_completion_tokens": "Completion tokens of images.",
    "accepted_prediction_tokens": "Completion tokens accepted from a prediction.",
    "rejected_prediction_tokens": "Completion tokens rejected from a prediction.",
    "web_search_calls": "Web searches that the vendor ran.",
    "vendor_request_id": "The vendor's id of the call, which its support asks for.",
    "http_status": "The vendor's status; null if it sent none.",
    "attempts": "The number of vendor calls.",
    "client_retry_count": "How often the client's library had retried before.",
    "started_at_ms": "When the request began, in Unix milliseconds.",
    "started_ms": "When the call began, in milliseconds after the request.",
    "first_token_ms": "Milliseconds to the first token; null if none came.",
    "duration_ms": "How long it took, in milliseconds.",
    "error_code": "The error's code; null if it did not fail.",
    "error_message": "What the vendor, or Tollgate, said of the failure.",
    "calls": "The vendor calls that used tokens; [] if the fields here describe the only one.",
    "attempt_log": "The vendor calls of a request that failed or was retried.",
}

TEXTS: Mapping[str, str] = {**_COMMON, **_RECORD, **_ONE}


def add_texts(schema: dict[str, Any], owner: str) -> None:
    """Add a text to each field of a schema that has none, and to those inside of it, in place.

    Fields without a text here are left without one; a test finds them.
    """
    for name, field in schema.get("properties", {}).items():
        text = TEXTS.get(f"{owner}.{name}") or TEXTS.get(name)
        if text and not field.get("description"):
            field["description"] = text
        add_texts(field, name)
    for inner in _inside(schema):
        add_texts(inner, owner)


def fields_in(schema: Mapping[str, Any], owner: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each field of a schema as `owner.name`, and those inside of it."""
    for name, field in schema.get("properties", {}).items():
        yield f"{owner}.{name}", field
        yield from fields_in(field, f"{owner}.{name}")
    for inner in _inside(schema):
        yield from fields_in(inner, owner)


def _inside(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas of a schema's items and alternatives."""
    found = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    items = schema.get("items")
    return [*found, items] if isinstance(items, dict) else found
