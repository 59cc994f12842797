"""Content codings of a request's body, in blocks of every size."""

import gzip
import random
import zlib
from collections.abc import Callable, Iterator

import pytest

from app.formats.content_coding import BLOCK_BYTES, MEMBERS_LIMIT, decoded
from app.vocabulary.errors import InvalidContentCoding, UnsupportedContentCoding

DICE = random.Random(7)  # noqa: S311 - repeatable
TEXT = DICE.randbytes(3000) + b"and so on " * 9000


def raw_deflate(body: bytes) -> bytes:
    """Return a body deflated without a zlib header."""
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(body) + deflater.flush()


CODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw": ("deflate", raw_deflate),
    "stacked": ("gzip, identity, deflate", lambda body: zlib.compress(gzip.compress(body))),
}


def pieces(body: bytes, size: int) -> Iterator[bytes]:
    """Yield a body in blocks."""
    return (body[at : at + size] for at in range(0, len(body), size))


@pytest.mark.parametrize("name", CODERS)
@pytest.mark.parametrize("size", [1, 2, 7, 1000, 10**6])
def test_what_was_coded_comes_back(name: str, size: int) -> None:
    coding, code = CODERS[name]
    assert b"".join(decoded(pieces(code(TEXT), size), coding)) == TEXT


@pytest.mark.parametrize("name", ["gzip", "zlib", "raw"])
@pytest.mark.parametrize("length", [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES])
def test_it_comes_in_pieces_of_a_bounded_size_and_whole(name: str, length: int) -> None:
    coding, code = CODERS[name]
    found = list(decoded([code(b"x" * length)], coding))
    assert b"".join(found) == b"x" * length
    assert all(len(piece) <= BLOCK_BYTES for piece in found)


@pytest.mark.parametrize("name", ["gzip", "zlib", "raw"])
def test_a_body_that_is_cut_anywhere_is_broken(name: str) -> None:
    coding, code = CODERS[name]
    body = code(TEXT[:200])
    for end in range(1, len(body)):
        with pytest.raises(InvalidContentCoding):
            b"".join(decoded([body[:end]], coding))


def test_members_and_padding_are_read_and_rubbish_is_not() -> None:
    body = b"".join(gzip.compress(part) for part in (b"a", b"", b"bc")) + b"\0" * 9
    for size in (1, 3, 1000):
        assert b"".join(decoded(pieces(body, size), "gzip")) == b"abc"
    with pytest.raises(InvalidContentCoding):
        b"".join(decoded([body + b"x"], "gzip"))


def test_no_body_is_no_broken_body() -> None:
    for coding in ("gzip", "deflate"):
        assert b"".join(decoded([], coding)) == b""


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip;q=1", "gzip, , x", "*"])
def test_another_coding_is_refused_before_anything_is_read(coding: str) -> None:
    left = iter([b"x"])
    with pytest.raises(UnsupportedContentCoding) as caught:
        decoded(left, coding)
    assert list(left) == [b"x"]
    assert caught.value.headers == {"accept-encoding": "gzip, deflate"}


def test_a_body_has_a_bounded_number_of_members() -> None:
    one = gzip.compress(b"a")
    assert len(b"".join(decoded([one * MEMBERS_LIMIT], "gzip"))) == MEMBERS_LIMIT
    with pytest.raises(InvalidContentCoding, match=f"more than {MEMBERS_LIMIT} members"):
        b"".join(decoded([one * MEMBERS_LIMIT, one], "gzip"))
