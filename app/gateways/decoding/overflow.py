"""Recognizes that a request is beyond a model's context, which every vendor words differently.

Clients shorten the conversation when they see OpenAI's code for it. Source: docs/vendors.md.
"""

import re

#: OpenAI's code.
CODE = "context_length_exceeded"

#: Other vendors' codes and types: llama.cpp's, Perplexity's.
CODES = frozenset({CODE, "exceed_context_size_error", "too_many_prompt_tokens"})

#: Parts of vendors' messages.
_MESSAGE = re.compile(
    "|".join(
        (
            r"prompt (?:is )?too long",  # Anthropic, Fireworks; Ollama
            r"input is too long",  # Bedrock
            r"exceeds? context limit",  # Anthropic, with max_tokens
            r"exceed(?:s|ed)? (?:(?:the|its|your|this model's|max) )?context (?:window|length)",
            r"exceeds? the (?:available )?context size",  # llama.cpp
            r"(?:maximum|model'?s|allowed) context length",  # OpenAI, vLLM, SGLang, Mistral, others
            r"maximum prompt length",  # xAI
            r"input token count",  # Google
            r"number of input tokens",  # Amazon's models
            r"too many (?:input )?tokens",  # Cohere
            r"must have less than \d+ tokens",  # TGI, Together
            r"`?inputs`? tokens \+ `?max_new_tokens`? must be",
            r"reduce the length of (?:the|your) (?:messages|prompt|input)",  # Groq
            r"prompt contains \d+ tokens",  # Mistral
            r"longer than the maximum model length",  # vLLM
            r"maximum allowed input length",  # SGLang, OpenRouter's vendors
            r"exceeded model token limit",  # Moonshot
            r"prompt exceeds max length",  # Z.ai
            r"range of input length should be",  # Qwen
            r"context window exceeds limit",  # MiniMax
            r"greater than the context length",  # LM Studio
            r"context[_ ]length[_ ]exceeded\b",
        )
    ),
    re.IGNORECASE,
)

#: How much of a message is searched, in characters: some quote the prompt.
SEARCHED = 4000


def is_overflow(message: str | None, *names: str | None) -> bool:
    """Whether an error with this message, code and type means a request beyond the context."""
    return not CODES.isdisjoint(names) or bool(message and _MESSAGE.search(message[:SEARCHED]))
