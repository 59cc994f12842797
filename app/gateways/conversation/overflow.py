"""Requests beyond a model's context: vendors word it differently, the contract has one code."""

#: The contract's code.
TOO_LONG = "context_length_exceeded"

#: Parts of vendors' messages, in lower case.
_MESSAGES = (
    "exceed context limit",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "input is too long",
    "input token count",
    "prompt is too long",
    "too many input tokens",
)


def is_too_long(message: str) -> bool:
    """Whether the message of a rejected request means that it is beyond the model's context."""
    lower = message.lower()
    return any(part in lower for part in _MESSAGES)
