"""The names of the fields that the contract of each endpoint has, to recognise mistyped ones."""

from collections.abc import Mapping

from app.vocabulary.completion import PARAMETERS
from app.vocabulary.request import Endpoint

FIELD_NAMES: Mapping[Endpoint, tuple[str, ...]] = {
    "completions": ("model", "prompt", "stream", "stream_options", *PARAMETERS),
    "chat.completions": (
        "audio",
        "frequency_penalty",
        "function_call",
        "functions",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "modalities",
        "model",
        "moderation",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    ),
}
