"""Which optional parameters a model takes, found by planning a request with each; no vendor is
called.

So the list cannot differ from what requests meet: it follows from the API format, the vendor's
entry and its rules for the model.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from app.api.schemas.chat.request import load_chat_request
from app.api.schemas.completion import load_completion_request
from app.serving.service import CompletionService
from app.vocabulary.errors import TollgateError
from app.vocabulary.request import Endpoint

_FUNCTION = {"name": "look", "parameters": {"type": "object", "properties": {}}}
_TOOLS = {"tools": [{"type": "function", "function": _FUNCTION}]}
_JSON = {"type": "json_schema", "json_schema": {"name": "it", "schema": {"type": "object"}}}

#: Parameter -> fields of a request that has it, with a value that changes the response.
TEXT_SAMPLES: Mapping[str, dict[str, Any]] = {
    "best_of": {"best_of": 2},
    "echo": {"echo": True},
    "frequency_penalty": {"frequency_penalty": 0.5},
    "logit_bias": {"logit_bias": {"50256": -1}},
    "logprobs": {"logprobs": 1},
    "max_tokens": {"max_tokens": 64},
    "n": {"n": 2},
    "presence_penalty": {"presence_penalty": 0.5},
    "seed": {"seed": 1},
    "stop": {"stop": ["END"]},
    "suffix": {"suffix": "the end"},
    "temperature": {"temperature": 0.5},
    "top_p": {"top_p": 0.5},
    "user": {"user": "u"},
}

CHAT_SAMPLES: Mapping[str, dict[str, Any]] = {
    **{
        name: TEXT_SAMPLES[name]
        for name in (
            *("frequency_penalty", "logit_bias", "max_tokens", "n", "presence_penalty", "seed"),
            *("stop", "temperature", "top_p", "user"),
        )
    },
    "audio": {"audio": {"format": "wav", "voice": "alloy"}, "modalities": ["text", "audio"]},
    "function_call": {"functions": [_FUNCTION], "function_call": "auto"},
    "functions": {"functions": [_FUNCTION]},
    "logprobs": {"logprobs": True},
    "max_completion_tokens": {"max_completion_tokens": 64},
    "metadata": {"metadata": {"a": "b"}},
    "modalities": {"modalities": ["text", "image"]},
    "moderation": {"moderation": {"model": "omni-moderation-latest"}},
    "parallel_tool_calls": {"parallel_tool_calls": False, **_TOOLS},
    "prediction": {"prediction": {"type": "content", "content": "a"}},
    "prompt_cache_key": {"prompt_cache_key": "k"},
    "prompt_cache_options": {"prompt_cache_options": {"mode": "implicit"}},
    "prompt_cache_retention": {"prompt_cache_retention": "24h"},
    "reasoning_effort": {"reasoning_effort": "high"},
    "response_format": {"response_format": _JSON},
    "safety_identifier": {"safety_identifier": "u"},
    "service_tier": {"service_tier": "flex"},
    "store": {"store": True},
    "tool_choice": {"tool_choice": "auto", **_TOOLS},
    "tools": _TOOLS,
    "top_logprobs": {"logprobs": True, "top_logprobs": 1},
    "verbosity": {"verbosity": "low"},
    "web_search_options": {"web_search_options": {}},
}

_MESSAGES = [{"role": "user", "content": "hi"}]

#: Models whose parameters are remembered; callers choose their names, so it is bounded.
_REMEMBERED = 8_192


@lru_cache(maxsize=_REMEMBERED)
def parameters_of(
    completions: CompletionService, endpoint: Endpoint, model: str
) -> tuple[str, ...] | None:
    """Return the parameters that `vendor/name` takes at an endpoint; None if it has none there."""
    is_chat = endpoint == "chat.completions"
    if not _takes(completions, is_chat, {"model": model}, None):
        return None
    samples = CHAT_SAMPLES if is_chat else TEXT_SAMPLES
    return tuple(
        name
        for name, fields in sorted(samples.items())
        if _takes(completions, is_chat, {"model": model, **fields}, name)
    )


def _takes(
    completions: CompletionService, is_chat: bool, body: dict[str, Any], name: str | None
) -> bool:
    """Whether a request can be planned, and nothing of it is dropped."""
    load: Any = load_chat_request if is_chat else load_completion_request
    start = {"messages": _MESSAGES} if is_chat else {"prompt": "hi"}
    try:
        return name not in completions.dropped(load({**start, **body}))
    except TollgateError:
        return False
