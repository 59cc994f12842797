"""Decodes the content codings of a request's body, `gzip` and `deflate`, in blocks.

It holds no more than one block, so that the reader can stop a body that expands to gigabytes at any
limit. Between two blocks, other greenlets get a turn. No I/O.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from app.runtime.turns import give_turn
from app.vocabulary.errors import InvalidContentCoding, UnsupportedContentCoding

#: The largest decoded block, in bytes: a fraction of a millisecond of work.
BLOCK_BYTES = 64 * 1024

#: Maximum number of codings: each one may expand the body again.
CODINGS_LIMIT = 4

#: Number of members of a gzip file, which may be empty, between two turns of others.
_MEMBERS_PER_TURN = 500

#: Maximum number of members: each takes as long as a kilobyte, and ten megabytes may have 500,000.
MEMBERS_LIMIT = 4_096

_GZIP_BITS, _ZLIB_BITS, _RAW_BITS = 31, 15, -15


def decoded(blocks: Iterable[bytes], content_encoding: str) -> Iterable[bytes]:
    """Decode a body with the codings of its `content-encoding` header, in the order applied.

    Raises: UnsupportedContentCoding at once; InvalidContentCoding while the result is read.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if len(names) > CODINGS_LIMIT or any(name not in _CODINGS for name in names):
        raise UnsupportedContentCoding(
            f"The `content-encoding` {content_encoding[:64]!r} is not supported. Use `gzip` or "
            "`deflate`, or send the body without one.",
            headers={"accept-encoding": "gzip, deflate"},
        )
    for name in reversed(names):
        blocks = _CODINGS[name](blocks)
    return blocks


def _gunzip(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Decode a gzip file, which may have several members, and zeros after the last one."""
    inflater, members = None, 0
    for block in blocks:
        rest = block
        while rest:
            if inflater is None:
                rest = rest.lstrip(b"\0") if members else rest
                if not rest:
                    break
                inflater, members = zlib.decompressobj(_GZIP_BITS), members + 1
                if members > MEMBERS_LIMIT:
                    raise InvalidContentCoding(
                        f"The request's body has more than {MEMBERS_LIMIT} members of gzip. "
                        "Compress it as one."
                    )
                if not members % _MEMBERS_PER_TURN:
                    give_turn()
            yield from _blocks(inflater, rest)
            rest = inflater.unused_data
            if inflater.eof:
                inflater = None
    if inflater is not None:
        raise _broken("gzip")


def _inflate(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Decode `deflate`: with a zlib header, as the standard requires, or without one."""
    inflater, held = None, b""
    for block in blocks:
        held += block
        if inflater is None and len(held) > 1:
            inflater = zlib.decompressobj(_ZLIB_BITS if _has_zlib_header(held) else _RAW_BITS)
        if inflater is not None:
            if inflater.eof and held:
                raise _broken("deflate")
            yield from _blocks(inflater, held, "deflate")
            held = inflater.unused_data
            if held:
                raise _broken("deflate")
    if held or (inflater is not None and not inflater.eof):
        raise _broken("deflate")


def _blocks(inflater: Any, data: bytes, name: str = "gzip") -> Iterator[bytes]:
    """Yield the decoded blocks of `data`; bytes after the end stay in `unused_data`."""
    more = True
    while more and not inflater.eof:
        try:
            block = inflater.decompress(data, BLOCK_BYTES)
        except zlib.error as exc:
            raise _broken(name) from exc
        if block:
            yield block
            give_turn()
        data = inflater.unconsumed_tail
        # More may follow a full block, even if all of the input has been consumed.
        more = bool(data) or len(block) == BLOCK_BYTES


def _has_zlib_header(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and data[0] >> 4 <= 7 and (data[0] * 256 + data[1]) % 31 == 0


def _broken(name: str) -> InvalidContentCoding:
    return InvalidContentCoding(f"The request's body is not valid `{name}`, or incomplete.")


_CODINGS: dict[str, Callable[[Iterable[bytes]], Iterator[bytes]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
}
