"""Vendor calls of tests: a request, its usage, and chunks of its response."""

from app.usage.metering.call_meter import CallMeter
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage

ASKED = CompletionRequest(model="sim/m", prompt="secret words", user="someone", stream=True)
COUNT = Usage(prompt_tokens=5, completion_tokens=3, total_tokens=8, cached_tokens=4)


def chunk(*texts: str, usage: Usage | None = None, model: str = "m") -> Completion:
    """Return a chunk with a text for each choice."""
    choices = tuple(Choice(index, text) for index, text in enumerate(texts))
    return Completion("cmpl-1", 1_790_000_000, model, choices, usage)


def metered(*chunks: Completion, request: CompletionRequest = ASKED) -> CallMeter:
    """Return the meter of a call that was answered with these chunks."""
    call = CallMeter("sim", request)
    call.billable = call.is_whole = True
    for one in chunks:
        call.observe(one)
    return call
