"""Content codings of a request's body: `gzip` and `deflate`, undone piece by piece.

Pure but for the turn that others get between two pieces. Nothing is held beyond one piece, so that
whoever reads can stop a text that unfolds into gigabytes at any limit.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from app.runtime.turns import give_turn
from app.vocabulary.errors import InvalidContentCoding, UnsupportedContentCoding

#: The largest piece that comes out, in bytes: a fraction of a millisecond's work.
PIECE_BYTES = 64 * 1024

#: Codings on top of each other; nobody needs more, and each is another chance to unfold.
CODINGS_LIMIT = 4

#: After so many members of a gzip file, which may be empty, others get their turn.
_MEMBERS_A_TURN = 500

_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = 31, 15, -15


def decoded(pieces: Iterable[bytes], content_encoding: str) -> Iterable[bytes]:
    """Return what a body is without its codings, which `content-encoding` lists as applied.

    Raises: UnsupportedContentCoding at once; while it is read, InvalidContentCoding.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > CODINGS_LIMIT or any(name not in _CODINGS for name in names):
        raise UnsupportedContentCoding(
            "A request's body may be coded as `gzip` or `deflate`; this `content-encoding` is"
            " neither.",
            headers={"accept-encoding": "gzip, deflate"},
        )
    for name in reversed(names):
        pieces = _CODINGS[name](pieces)
    return pieces


def _gunzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what a gzip file holds, which may have several members and zeros behind the last."""
    inflater, members = None, 0
    for piece in pieces:
        rest = piece
        while rest:
            if inflater is None:
                rest = rest.lstrip(b"\0") if members else rest
                if not rest:
                    break
                inflater, members = zlib.decompressobj(_GZIP_BITS), members + 1
                if not members % _MEMBERS_A_TURN:
                    give_turn()
            yield from _inflated(inflater, rest)
            rest = inflater.unused_data
            if inflater.eof:
                inflater = None
    if inflater is not None:
        raise _broken("gzip")


def _undeflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what was deflated: in the frame that the standard asks for, or without, as some do."""
    inflater, held = None, b""
    for piece in pieces:
        held += piece
        if inflater is None and len(held) > 1:
            inflater = zlib.decompressobj(_ZLIB_BITS if _has_frame(held) else _RAW_BITS)
        if inflater is not None:
            if inflater.eof and held:
                raise _broken("deflate")
            yield from _inflated(inflater, held, "deflate")
            held = inflater.unused_data
            if held:
                raise _broken("deflate")
    if held or (inflater is not None and not inflater.eof):
        raise _broken("deflate")


def _inflated(inflater: Any, data: bytes, name: str = "gzip") -> Iterator[bytes]:
    """Yield what comes out for `data`, in pieces; what lies beyond the end stays unused."""
    more = True
    while more and not inflater.eof:
        try:
            piece = inflater.decompress(data, PIECE_BYTES)
        except zlib.error as exc:
            raise _broken(name) from exc
        if piece:
            yield piece
            give_turn()
        data = inflater.unconsumed_tail
        # A full piece may have more behind it, though all of the input has been taken.
        more = bool(data) or len(piece) == PIECE_BYTES


def _has_frame(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and data[0] >> 4 <= 7 and (data[0] * 256 + data[1]) % 31 == 0


def _broken(name: str) -> InvalidContentCoding:
    return InvalidContentCoding(f"The request's body is broken: it is not whole as `{name}`.")


_CODINGS: dict[str, Callable[[Iterable[bytes]], Iterator[bytes]]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _undeflated,
}
