"""Streams and objects with different ends, and what the caller must get."""

import threading
import zlib
from collections.abc import Callable
from typing import Any

from tests.contract.answers.parts import Counts, Part, Wire
from tests.contract.answers.site import (
    BY_VENDOR,
    SOON_S,
    TEXT,
    Site,
    books,
    by_index,
)
from tests.support.vendor import CUT, FIN, Reply, Step

COUNTS = Counts(20, 7)


#: How an answer is said whose end is odd: its content type, its bytes, and where its end is noted.
Ending = Callable[[dict[str, str], bytes, Step], Reply]


def _gzipped(content: bytes) -> bytes:
    """Return the whole content in gzip, without its trailer."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(content) + packer.flush(zlib.Z_SYNC_FLUSH)


def _raw(headers: dict[str, str], *steps: Step) -> Reply:
    return Reply(list(steps), 200, headers, framing="raw")


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def _open() -> threading.Event:
    return threading.Event()  # which is never set: the vendor waits until we hang up


CHUNKED = {"transfer-encoding": "chunked"}


GZIP = {"content-encoding": "gzip"}


LONG = {"content-length": "1000000"}


ENDINGS: dict[str, Ending] = {
    "stays open": lambda kind, said, ends: Reply([said, ends, _open()], 200, kind),
    "stays open, unframed": lambda kind, said, ends: _raw(kind, said, ends, _open()),
    "is reset": lambda kind, said, ends: Reply([said, ends, CUT], 200, kind),
    "lacks its last chunk": lambda kind, said, ends: Reply([said, ends, FIN], 200, kind),
    "is shorter than it said": lambda kind, said, ends: _raw({**kind, **LONG}, said, ends, FIN),
    "is shorter, and stays open": lambda kind, said, ends: _raw(
        {**kind, **LONG}, said, ends, _open()
    ),
    "goes on in no chunks": lambda kind, said, ends: _raw(
        {**kind, **CHUNKED}, _chunk(said), ends, b"nonsense\r\n\r\n", FIN
    ),
    "lacks its gzip trailer": lambda kind, said, ends: Reply(
        [_gzipped(said), ends], 200, {**kind, **GZIP}
    ),
    "lacks its gzip trailer, and is reset": lambda kind, said, ends: Reply(
        [_gzipped(said), ends, CUT], 200, {**kind, **GZIP}
    ),
    "lacks its gzip trailer, and stays open": lambda kind, said, ends: Reply(
        [_gzipped(said), ends, _open()], 200, {**kind, **GZIP}
    ),
}


def said(wire: Wire, *, marked: bool, samples: int = 1) -> bytes:
    """Return a whole stream, with or without its end mark."""
    usage = wire.usage(COUNTS)
    pieces = [wire.event(Part(TEXT, index=index)) for index in range(samples)]
    ends = [Part("", wire.stop, index) for index in range(samples)]
    mark = wire.mark if marked else b""
    return b"".join([wire.opening(usage), *pieces, wire.event(*ends, usage=usage), mark])


def check_whole(site: Site, told: Any, samples: int = 1) -> None:
    """Check that the caller got all of it, soon, and that no failure was counted."""
    assert told.is_whole(), told
    assert told.done
    assert by_index(told.texts) == [TEXT] * samples
    assert by_index(told.reasons) == [["stop"]] * samples
    assert told.counts == (20, 7)
    assert told.ended_s - site.ended_s < SOON_S
    assert books(site.event()) == ("completed", 20, 7, *BY_VENDOR)
    assert not site.is_blamed()


#: Those that are told by a silence, which takes half a second each; a few wires will do for most.
SILENT = (
    "stays open, unframed",
    "is shorter, and stays open",
    "lacks its gzip trailer, and stays open",
)
