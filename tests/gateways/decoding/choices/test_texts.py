"""Characters that a vendor split are joined, and incomplete ones are replaced."""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding.choices.texts import REPLACEMENT, TextJoiner, sanitized

EMOJI = "\N{GRINNING FACE}"


def joined(*deltas: str) -> list[str]:
    """Return the text that comes with each delta, and the last at the end."""
    joiner = TextJoiner()
    return [*(joiner.feed(delta) for delta in deltas), joiner.flush()]


def raw(data: bytes) -> str:
    """Return bytes as a vendor sends those that are not text: as surrogate escapes."""
    return data.decode("ascii", "surrogateescape")


def utf16(text: str) -> str:
    """Return a text as JSON escapes it: characters beyond 16 bits are two surrogates."""
    units = zip(*[iter(text.encode("utf-16-le"))] * 2, strict=True)
    return "".join(chr(int.from_bytes(unit, "little")) for unit in units)


@pytest.mark.parametrize(
    ("deltas", "texts"),
    [
        (["a", "b"], ["a", "b", ""]),
        (["a\ud83d", "\ude00b"], ["a", f"{EMOJI}b", ""]),
        (["a\ud83d\ude00b"], [f"a{EMOJI}b", ""]),
        (["a\ud83d"], ["a", REPLACEMENT]),
        (["a\ud83d", "b"], ["a", f"{REPLACEMENT}b", ""]),
        (["\ud83dx"], [f"{REPLACEMENT}x", ""]),
        (["\ude00b"], [f"{REPLACEMENT}b", ""]),
        ([raw(b"caf\xc3"), raw(b"\xa9!")], ["caf", "\xe9!", ""]),
        ([raw(b"\xf0\x9f"), raw(b"\x98"), raw(b"\x80")], ["", "", EMOJI, ""]),
        ([raw(b"\xf0\x9f\x98"), "x"], ["", f"{REPLACEMENT}x", ""]),
        ([raw(b"caf\xc3")], ["caf", REPLACEMENT]),
        ([raw(b"\xa9x")], [f"{REPLACEMENT}x", ""]),
        ([raw(b"\xff"), "x"], [REPLACEMENT, "x", ""]),
    ],
)
def test_half_a_character_waits_for_its_other_half(deltas: list[str], texts: list[str]) -> None:
    assert joined(*deltas) == texts


@pytest.mark.parametrize("sent", [lambda text: raw(text.encode()), utf16], ids=["bytes", "escapes"])
@given(text=st.text(max_size=20), data=st.data())
def test_a_text_may_be_split_anywhere(
    sent: Callable[[str], str], text: str, data: st.DataObject
) -> None:
    parts = sent(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(parts)), max_size=5)))
    deltas = [parts[a:b] for a, b in itertools.pairwise([0, *cuts, len(parts)])]
    assert "".join(joined(*deltas)) == text


@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=5), max_size=5))
def test_every_text_encodes(deltas: list[str]) -> None:
    "".join(joined(*deltas)).encode()
    for delta in deltas:
        sanitized(delta).encode()


def test_a_text_without_halves_is_the_same_object() -> None:
    for text in ("plain", f"caf\u00e9 {EMOJI}"):
        assert sanitized(text) is text
    assert sanitized("a\ud83d\ude00b\ud83d") == f"a{EMOJI}b{REPLACEMENT}"
