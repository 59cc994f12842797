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


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[Missing, ...])


def encode_missing(missing: Collection[Missing]) -> bytes:
    """Return the missing requests as JSON."""
    return _encoder.encode(tuple(missing))


def decode_missing(raw: bytes | None) -> tuple[Missing, ...]:
    """Return what `encode_missing` wrote; nothing of None."""
    return _decoder.decode(raw) if raw else ()


def count_missing(missing: Collection[Missing]) -> int:
    """Count the requests."""
    return sum(it.size for it in missing)
