"""The optional parameters of chat requests, by their public names."""

from app.vocabulary.completion import PARAMETERS

#: `max_tokens` is the limit, whichever of its two names the caller used.
CHAT_PARAMETERS: tuple[str, ...] = (
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_tokens",
    "metadata",
    "modalities",
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
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
)

#: Those of either endpoint, as the vendor table may name them.
ALL_PARAMETERS: tuple[str, ...] = tuple(sorted({*PARAMETERS, *CHAT_PARAMETERS}))
