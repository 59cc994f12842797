"""Google's responses, decoded."""

from typing import Any

from app.vocabulary.completion import Choice
from tests.gateways.gemini.wire import decoded


def only(body: Any) -> Choice:
    (choice,) = decoded(body).choices
    return choice
