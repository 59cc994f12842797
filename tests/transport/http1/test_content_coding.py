"""Content codings that nobody asked for."""

import contextlib
import gzip
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.transport.http1.content_coding import PIECE_BYTES, decoded
from app.transport.http1.errors import BadCoding

BODY = b'{"text": "caf\xc3\xa9"}'
NOISE = b"".join(b"%d " % (at * at) for at in range(20_000))


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


PACKED = {
    "gzip": ("gzip", gzip.compress(BODY, mtime=0)),
    "in capitals": ("GZip", gzip.compress(BODY, mtime=0)),
    "two files": ("x-gzip", gzip.compress(BODY[:5], mtime=0) + gzip.compress(BODY[5:], mtime=0)),
    "a file and noise": ("gzip", gzip.compress(BODY, mtime=0) + b"\0\0\0noise"),
    "deflate": ("deflate", zlib.compress(BODY)),
    "deflate without a header": ("deflate", raw_deflate(BODY)),
    "deflate and noise": ("deflate", zlib.compress(BODY) + b"noise"),
    "gzip by another name": ("br", gzip.compress(BODY, mtime=0)),
    "deflate by another name": ("gzip", zlib.compress(BODY)),
    "one upon the other": ("deflate, gzip", gzip.compress(zlib.compress(BODY), mtime=0)),
    "identity": ("identity", BODY),
    "none": ("", BODY),
    "none, whatever it says": ("gzip", BODY),
    "none, whatever else it says": ("utf-8", BODY),
    "none, not in ASCII": ("deflate", b'{"text": "' + "é".encode() * 9 + b'"}'),
    "events": ("br", b"data: {}\n\n"),
    "blanks first": ("gzip", b"\r\n" + BODY),
}


@pytest.mark.parametrize(("codings", "packed"), PACKED.values(), ids=PACKED)
def test_a_coding_is_undone_wherever_it_is_cut(codings: str, packed: bytes) -> None:
    is_plain = packed[:1] in (b"{", b"d", b"\r")
    plain = packed if is_plain else BODY
    for at in range(len(packed)):
        assert b"".join(decoded(iter([packed[:at], packed[at:]]), codings)) == plain
    assert b"".join(decoded(iter([bytes([byte]) for byte in packed]), codings)) == plain


def test_a_body_that_is_empty_needs_no_coding() -> None:
    assert list(decoded(iter([]), "gzip")) == []


@pytest.mark.parametrize(
    ("codings", "packed", "words"),
    [
        ("br", b"\x8b\x02\x80abc\x03 and more", "`br` cannot be read"),
        ("br", b"{\x02\x80abc\x03 and more", "`br` cannot be read"),
        ("zstd", b"\x28\xb5\x2f\xfd\x24\x01\x00", "`zstd` cannot be read"),
        ("sk-secret_key", b"\x8b\x02\x80abc\x03", "coding cannot be read"),
        ("gzip", b"\x8b\x02\x80abc\x03", "`gzip` cannot be read"),
        ("gzip", gzip.compress(BODY, mtime=0)[:-1], "ends early"),
        ("deflate", zlib.compress(BODY)[:-1], "ends early"),
        ("gzip", gzip.compress(BODY, mtime=0)[:-8] + b"\0" * 8, "is broken"),
    ],
)
def test_a_coding_that_cannot_be_undone_is_named(codings: str, packed: bytes, words: str) -> None:
    with pytest.raises(BadCoding, match=words):
        list(decoded(iter([packed]), codings))


@pytest.mark.parametrize("kept", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("damage", [b"", b"\xff" * 400])
def test_all_that_can_be_decoded_comes_before_the_error(kept: float, damage: bytes) -> None:
    packed = gzip.compress(NOISE, mtime=0)
    packed = packed[: int(len(packed) * kept)] + damage
    found: list[bytes] = []
    with pytest.raises(BadCoding):
        found.extend(decoded(iter([packed]), "gzip"))
    text = b"".join(found)
    assert NOISE.startswith(text[: int(len(NOISE) * kept * 0.9)])
    assert len(text) > len(NOISE) * kept * 0.9


def test_a_wrong_checksum_loses_nothing() -> None:
    packed = gzip.compress(BODY, mtime=0)[:-8] + b"\0" * 8
    found: list[bytes] = []
    with pytest.raises(BadCoding):
        found.extend(decoded(iter([packed]), "gzip"))
    assert b"".join(found) == BODY


def test_what_breaks_off_has_been_decoded_before() -> None:
    def breaking() -> Iterator[bytes]:
        yield gzip.compress(BODY, mtime=0)[:-8]
        raise ConnectionResetError

    found: list[bytes] = []
    with pytest.raises(ConnectionResetError):
        found.extend(decoded(breaking(), "gzip"))
    assert b"".join(found) == BODY


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, raw_deflate])
def test_a_bomb_costs_no_more_memory_than_a_piece(pack: object) -> None:
    bomb = pack(b"\n" * 100_000_000)  # type: ignore[operator]
    assert len(bomb) < 400_000
    packets = [bomb[at : at + 65536] for at in range(0, len(bomb), 65536)]
    tracemalloc.start()
    try:
        sizes = [len(piece) for piece in decoded(iter(packets), "deflate")]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(sizes) == 100_000_000
    assert max(sizes) <= PIECE_BYTES
    assert peak < 4_000_000


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "br", "gzip, deflate", "x, y"]))
def test_whatever_comes_is_decoded_passed_on_or_refused(body: bytes, codings: str) -> None:
    for packed in (body, GZIP_START + body):
        with contextlib.suppress(BadCoding):
            list(decoded(iter([packed[:7], packed[7:]]), codings))


GZIP_START = gzip.compress(b"", mtime=0)[:10]
