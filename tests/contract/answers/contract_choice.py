"""A response with one choice, built from deltas."""

import pytest

from tests.contract.answers.parts import Counts, Part
from tests.contract.answers.wires import WIRES
from tests.support.vendor import Reply

COUNTS = Counts(20, 7)


BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def say(name: str, stream: bool, *parts: Part) -> Reply:
    """Return a response whose choice has these deltas; a whole one has only the first."""
    wire, usage = WIRES[name], WIRES[name].usage(COUNTS)
    if not stream:
        first = parts[0]
        return wire.whole(Part(first.text, wire.stop, first.index, first.more), usage=usage)
    end = wire.event(Part("", wire.stop), usage=usage)
    return wire.stream(wire.opening(usage), *(wire.event(part) for part in parts), end, wire.mark)
