"""Responses with a usage."""

from tests.contract.answers.parts import Counts, Part, Wire
from tests.contract.answers.site import (
    TEXT,
    TEXT_TOKENS,
)
from tests.contract.answers.wires import WIRES

COUNTS = Counts(20, 7)


ERROR = {"message": "The engine caught fire.", "type": "server_error", "code": None}


# Counts that come early, and then the answer breaks off.

EARLY = Counts(2010, TEXT_TOKENS, 2000)


def begun(wire: Wire) -> list[bytes]:
    """Return the beginning of a stream: its text and its usage so far."""
    if wire is WIRES["anthropic"]:
        return [wire.opening(wire.usage(EARLY)), wire.event(Part(TEXT))]
    words = [("alpha", 1), (" beta", 2), (" gamma", 3)]
    return [
        wire.event(Part(word), usage=wire.usage(Counts(2010, tokens, 2000)))
        for word, tokens in words
    ]
