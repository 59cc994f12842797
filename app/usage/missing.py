"""Missing: requests that were opened, and whose usage is nowhere. No I/O."""

from collections.abc import Collection

import msgspec
from msgspec import Struct


class Missing(Struct, frozen=True, array_like=True, gc=False):
    """The requests `first` to `last` of a process, which started between two times (Unix ms).

    `found_ms` is when they were found to be missing.
    """

    process: str
    first: int
    last: int
    from_ms: int
    to_ms: int
    found_ms: int

    @property
    def size(self) -> int:
        """How many requests these are."""
        return self.last - self.first + 1


class Search(Struct, frozen=True, array_like=True, gc=False):
    """What a worker found at a time, in Unix ms: it looked for all that had been opened by then.

    `until_ms` is the start of the oldest request that was open or on its way to the ledger.
    """

    until_ms: int
    missing: tuple[Missing, ...] = ()


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Search)


def encode_search(search: Search) -> bytes:
    """Return the outcome of a search as JSON."""
    return _encoder.encode(search)


def decode_search(raw: bytes | None) -> Search | None:
    """Return what `encode_search` wrote; None of None, and of what another version wrote."""
    try:
        return _decoder.decode(raw) if raw else None
    except msgspec.DecodeError:
        return None


def count_missing(missing: Collection[Missing]) -> int:
    """Count the requests."""
    return sum(it.size for it in missing)
