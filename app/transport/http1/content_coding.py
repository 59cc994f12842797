"""Decodes gzip and deflate, in pieces of bounded size.

Requests ask for no coding, so a `content-encoding` header may well be wrong: the first bytes of
the body decide. No I/O. Source: RFC 9110, section 8.4; RFC 1950 and 1952.
"""

import re
import zlib
from collections.abc import Iterator, Mapping

from app.transport.http1.errors import BadCoding

#: Most bytes of one decoded piece.
PIECE_BYTES = 64 * 1024

GZIP = b"\x1f\x8b"
_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS

#: The beginning of a body that is not coded, whatever its header says: JSON, events, HTML, spaces.
_TEXT = re.compile(rb'[\s{\["<:]|data|event|id|retry|\xef\xbb')
#: Only gzip has distinctive first bytes. Other codings may begin with "{": look at what follows.
_PRINTABLE = re.compile(rb"[\s -~]+")
_START_BYTES = 8

#: A label that a message to the caller may contain.
_LABEL = re.compile(r"[a-z0-9-]{1,20}")


def codings_in(headers: Mapping[str, str]) -> str:
    """Return the codings of a body except chunked, in the form of `content-encoding`."""
    content = headers.get("content-encoding", "")
    transfer = headers.get("transfer-encoding")
    if transfer is None or transfer == "chunked":
        return content
    items = transfer.lower().split(",")
    return ",".join([content, *(item for item in items if item.strip() != "chunked")])


def decoded(packets: Iterator[bytes], codings: str) -> Iterator[bytes]:
    """Yield a body without the codings in `codings`, which has the form of `content-encoding`.

    Everything that can be decoded is yielded before an error is raised.
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
    """Return zlib's number for the coding; None if the body is not coded.

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
        if label == "deflate":  # some omit zlib's header
            return _RAW_BITS
    name = f" `{label}`" if _LABEL.fullmatch(label) else ""
    raise BadCoding(f"sent a body whose content coding{name} cannot be read")


def _inflated(start: bytes, packets: Iterator[bytes], bits: int) -> Iterator[bytes]:
    """Yield the decoded body: one gzip member or several; noise after the last is ignored."""
    decoder = zlib.decompressobj(bits)
    rest = b""
    for packet in _chained(start, packets):
        rest += packet
        while rest:
            if decoder.eof:
                if bits != _GZIP_BITS or not rest.startswith(GZIP[: len(rest)]):
                    rest = b""  # noise after the body
                if len(rest) < len(GZIP):
                    break
                decoder = zlib.decompressobj(bits)
            yield from _pieces(decoder, rest)
            rest = decoder.unused_data
    if not decoder.eof:
        raise BadCoding("sent a body whose content coding ends early")


def _pieces(decoder: "zlib._Decompress", packed: bytes) -> Iterator[bytes]:
    """Yield the decoded bytes of `packed`, up to an error.

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
    """Decode byte by byte until zlib fails: given more, it would return nothing at all."""
    pieces = []
    try:
        for at in range(len(packed)):
            pieces.append(decoder.decompress(packed[at : at + 1]))
    except zlib.error:
        pass
    return b"".join(pieces)
