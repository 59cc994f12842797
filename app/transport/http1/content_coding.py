"""Content codings of bodies: gzip and deflate are undone in bounded pieces.

Nothing compressed was asked for, so what a header says may be wrong: the first bytes decide.
No I/O. Source: RFC 9110, section 8.4; RFC 1950 and 1952.
"""

import re
import zlib
from collections.abc import Iterator

from app.transport.http1.errors import BadCoding

#: Most that one piece of a decoded body holds, in bytes.
PIECE_BYTES = 64 * 1024

GZIP = b"\x1f\x8b"
_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS

#: How a body begins that has no coding, whatever its header says: JSON, events, HTML, blanks.
_TEXT = re.compile(rb'[\s{\["<:]|data|event|id|retry|\xef\xbb')
#: Only gzip is known by its first bytes. Others can begin with "{", so what follows counts, too.
_PRINTABLE = re.compile(rb"[\s -~]+")
_START_BYTES = 8

#: A label that may be repeated to a caller.
_LABEL = re.compile(r"[a-z0-9-]{1,20}")


def decoded(packets: Iterator[bytes], codings: str) -> Iterator[bytes]:
    """Yield a body without the codings that `codings` lists, as in `content-encoding`.

    Everything that can be decoded has been yielded before an error is raised.
    Raises: BadCoding; whatever `packets` raises.
    """
    labels = [label.strip().lower() for label in codings.split(",")]
    for label in reversed([label for label in labels if label not in ("", "identity")]):
        packets = _without(packets, label)
    return packets


def _without(packets: Iterator[bytes], label: str) -> Iterator[bytes]:
    start = b""
    try:
        for packet in packets:
            start += packet
            if len(start) >= _START_BYTES:
                break
    except OSError:
        if _TEXT.match(start):
            yield start
        raise
    if not start:
        return
    bits = _window_bits(label, start)
    yield from _chained(start, packets) if bits is None else _inflated(start, packets, bits)


def _chained(start: bytes, packets: Iterator[bytes]) -> Iterator[bytes]:
    yield start
    yield from packets


def _window_bits(label: str, start: bytes) -> int | None:
    """Return what zlib calls the coding; None for a body that has none.

    Raises: BadCoding.
    """
    if start.startswith(GZIP):
        return _GZIP_BITS
    surely_text = label in ("gzip", "x-gzip") or _PRINTABLE.fullmatch(start[:_START_BYTES])
    if _TEXT.match(start) and surely_text:
        return None
    if label in ("gzip", "x-gzip", "deflate"):
        if len(start) > 1 and start[0] & 15 == 8 and (start[0] << 8 | start[1]) % 31 == 0:
            return _ZLIB_BITS
        if label == "deflate":  # some leave zlib's header out
            return _RAW_BITS
    name = f" `{label}`" if _LABEL.fullmatch(label) else ""
    raise BadCoding(f"sent a body whose content coding{name} cannot be read")


def _inflated(start: bytes, packets: Iterator[bytes], bits: int) -> Iterator[bytes]:
    """Yield what zlib makes of a body: one gzip file, or several, and noise after the last."""
    decoder = zlib.decompressobj(bits)
    rest = b""
    for packet in _chained(start, packets):
        rest += packet
        while rest:
            if decoder.eof:
                if bits != _GZIP_BITS or not rest.startswith(GZIP[: len(rest)]):
                    rest = b""  # whatever follows a whole body is not part of it
                if len(rest) < len(GZIP):
                    break
                decoder = zlib.decompressobj(bits)
            yield from _pieces(decoder, rest)
            rest = decoder.unused_data
    if not decoder.eof:
        raise BadCoding("sent a body whose content coding ends early")


def _pieces(decoder: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    """Yield what `packed` decodes to, as far as it does.

    Raises: BadCoding.
    """
    while True:
        before = decoder.copy()
        try:
            piece = decoder.decompress(packed, PIECE_BYTES)
        except zlib.error as exc:
            yield _up_to_error(before, packed)
            raise BadCoding("sent a body whose content coding is broken") from exc
        if piece:
            yield piece
        packed = decoder.unconsumed_tail
        if decoder.eof or (not packed and len(piece) < PIECE_BYTES):
            return


def _up_to_error(decoder: "zlib._Decompress", packed: bytes) -> bytes:
    """Return what can be decoded up to the byte at which zlib fails, and keeps it all."""
    pieces = []
    try:
        for at in range(len(packed)):
            pieces.append(decoder.decompress(packed[at : at + 1]))
    except zlib.error:
        pass
    return b"".join(pieces)
