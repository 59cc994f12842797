"""The same response as a stream and as an object."""

from typing import Any

import pytest

from tests.contract.answers.parts import Counts, Part, Wire
from tests.contract.answers.site import BY_VENDOR, TEXT, Site, books, by_index
from tests.support.vendor import Reply

COUNTS = Counts(20, 7)


BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def labelled(content: bytes, label: str) -> Reply:
    """Return the content with a content type that may be wrong."""
    return Reply([content], 200, {"content-type": label}, framing="length")


def stream_of(wire: Wire, samples: int = 1) -> bytes:
    """Return a stream, word by word, as bytes."""
    usage = wire.usage(COUNTS)
    events = [
        wire.event(Part(word, index=index))
        for word in ("alpha", " beta", " gamma")
        for index in range(samples)
    ]
    end = wire.event(*(Part("", wire.stop, index) for index in range(samples)), usage=usage)
    return b"".join([wire.opening(usage), *events, end, wire.mark])


def check(site: Site, told: Any, samples: int = 1) -> None:
    """Check that the caller got all of it, in the form that it requested."""
    assert told.is_whole(), told
    assert told.done
    assert by_index(told.texts) == [TEXT] * samples
    assert by_index(told.reasons) == [["stop"]] * samples
    assert told.counts == (20, 7)
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)
    assert not site.is_blamed()
