"""Characters that a vendor cut in two: joined if both halves come, else replaced."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding.choices.texts import REPLACEMENT, TextJoiner, sanitized

SMILE = "\N{GRINNING FACE}"


def raw(data: bytes) -> str:
    """Return bytes that are no whole text, as they are kept until the rest comes."""
    return data.decode("utf-8", "surrogateescape")


def joined(*pieces: str) -> list[str]:
    joiner = TextJoiner()
    return [*(joiner.feed(piece) for piece in pieces), joiner.flush()]


@pytest.mark.parametrize(
    ("pieces", "given_on"),
    [
        (("one", " two"), ["one", " two", ""]),
        (("a\ud83d", "\ude00b"), ["a", f"{SMILE}b", ""]),
        (("a\ud83d\ude00b",), [f"a{SMILE}b", ""]),
        (("a\ud83d",), ["a", REPLACEMENT]),
        (("a\ud83d", "b"), ["a", f"{REPLACEMENT}b", ""]),
        (("\ude00b",), [f"{REPLACEMENT}b", ""]),
        ((raw(b"caf\xc3"), raw(b"\xa9!")), ["caf", "\xe9!", ""]),
        ((raw(b"\xf0\x9f"), raw(b"\x98"), raw(b"\x80")), ["", "", SMILE, ""]),
        ((raw(b"caf\xc3"),), ["caf", REPLACEMENT]),
        ((raw(b"\xa9x"),), [f"{REPLACEMENT}x", ""]),
        ((raw(b"\xff"), "x"), [REPLACEMENT, "x", ""]),
    ],
)
def test_halves_are_held_until_the_other_half_comes(
    pieces: tuple[str, ...], given_on: list[str]
) -> None:
    assert joined(*pieces) == given_on


@given(st.text(), st.data())
def test_a_text_is_the_same_wherever_its_bytes_or_escapes_are_cut(
    text: str, data: st.DataObject
) -> None:
    encoded = text.encode()
    at = data.draw(st.integers(0, len(encoded)))
    assert "".join(joined(raw(encoded[:at]), raw(encoded[at:]))) == text
    halves = "".join(
        chr(int.from_bytes(pair, "little"))
        for pair in zip(*[iter(text.encode("utf-16-le"))] * 2, strict=True)
    )
    at = data.draw(st.integers(0, len(halves)))
    assert "".join(joined(halves[:at], halves[at:])) == text


@given(st.text(st.characters(exclude_categories=[])))
def test_whatever_came_what_is_given_on_can_be_encoded(text: str) -> None:
    "".join(joined(text[:3], text[3:])).encode()
    sanitized(text).encode()


def test_a_whole_text_is_passed_on_as_it_is() -> None:
    text = f"caf\xe9 {SMILE}"
    assert sanitized(text) is text
    assert sanitized("a\ud83d\ude00b\ud83d") == f"a{SMILE}b{REPLACEMENT}"
