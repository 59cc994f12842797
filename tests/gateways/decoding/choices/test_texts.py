"""Characters that a vendor split are joined, and incomplete ones are replaced."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding.choices.texts import TextJoiner, sanitized

EMOJI = "\N{GRINNING FACE}"


def joined(*deltas: str) -> list[str]:
    joiner = TextJoiner()
    return [*(joiner.feed(delta) for delta in deltas), joiner.flush()]


def raw(text: str) -> str:
    """Return a text as surrogate escapes of its bytes."""
    return text.encode().decode("ascii", "surrogateescape")


@pytest.mark.parametrize(
    ("deltas", "texts"),
    [
        (["a", "b"], ["a", "b", ""]),
        (["a\ud83d", "\ude00b"], ["a", f"{EMOJI}b", ""]),
        (["\ud83d"], ["", "\ufffd"]),
        (["\ud83dx"], ["\ufffdx", ""]),
        (["\ude00"], ["\ufffd", ""]),
        ([raw(EMOJI)[:2], raw(EMOJI)[2:]], ["", EMOJI, ""]),
        ([raw(EMOJI)[:3], "x"], ["", "\ufffdx", ""]),
        ([raw(EMOJI)[:3]], ["", "\ufffd"]),
    ],
)
def test_half_a_character_waits_for_its_other_half(deltas: list[str], texts: list[str]) -> None:
    assert joined(*deltas) == texts


@given(st.text(max_size=20), st.data())
def test_raw_bytes_may_be_split_anywhere(text: str, data: st.DataObject) -> None:
    escaped = raw(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(escaped)), max_size=5)))
    bounds = [0, *cuts, len(escaped)]
    deltas = [escaped[a:b] for a, b in itertools.pairwise(bounds)]
    assert "".join(joined(*deltas)) == text


@given(st.lists(st.text(st.characters(), max_size=5), max_size=5))
def test_every_text_encodes(deltas: list[str]) -> None:
    "".join(joined(*deltas)).encode()
    for delta in deltas:
        sanitized(delta).encode()


def test_a_text_without_halves_is_the_same_object() -> None:
    for text in ("plain", f"caf\u00e9 {EMOJI}"):
        assert sanitized(text) is text
    assert sanitized("a\ud83d\ude00\ud83d") == f"a{EMOJI}\ufffd"
