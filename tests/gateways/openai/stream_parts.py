"""Streams in OpenAI's completions format."""

from app.vocabulary.completion import CompletionRequest

TWO = CompletionRequest(model="sim/m", prompt=("a", "b"), stream=True)
