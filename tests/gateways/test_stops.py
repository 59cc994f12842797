from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.stops import StopCutter, as_list

letters = st.text("ab\n ", max_size=12)


@given(letters, st.lists(st.text("ab\n ", min_size=1, max_size=4), max_size=4), st.data())
def test_a_text_in_pieces_is_cut_where_the_whole_text_would_be(
    text: str, stops: list[str], data: st.DataObject
) -> None:
    cutter, passed, left = StopCutter(stops), "", text
    while left:
        size = data.draw(st.integers(1, len(left)))
        passed, left = passed + cutter.feed(left[:size]), left[size:]
    passed += cutter.flush()
    # A model that stops by itself does so at the letter that completes a sequence.
    ends = [end for end in range(len(text) + 1) if text[:end].endswith(tuple(stops))]
    longest = max((len(s) for s in stops if ends and text[: ends[0]].endswith(s)), default=0)
    assert passed == text[: ends[0] - longest if ends else len(text)]
    assert cutter.is_cut == bool(ends)


def test_what_cannot_begin_a_stop_sequence_is_not_held_back() -> None:
    cutter = StopCutter(["\n\n"])
    assert [cutter.feed(piece) for piece in ("one", " two\n", "three\n", "\nfour")] == [
        "one",
        " two",
        "\nthree",
        "",
    ]
    assert cutter.is_cut
    assert cutter.flush() == ""


@pytest.mark.parametrize(("stop", "listed"), [(None, []), ("\n", ["\n"]), (("a", "b"), ["a", "b"])])
def test_stop_sequences_are_always_a_list(stop: str | tuple[str, ...], listed: list[str]) -> None:
    assert as_list(stop) == listed


class Counted(str):
    """A stop sequence that counts how often one of its characters is looked at."""

    looks = 0

    def __getitem__(self, at: Any) -> str:
        Counted.looks += 1
        return super().__getitem__(at)


@pytest.mark.parametrize("text", ["a", "ab", "aab"])
def test_each_character_is_looked_at_a_bounded_number_of_times(text: str) -> None:
    size, stop = 20_000, Counted("a" * 10_000 + "c")
    Counted.looks, cutter = 0, StopCutter([stop])
    passed = "".join(cutter.feed(letter) for letter in text * (size // len(text)))
    assert passed + cutter.flush() == text * (size // len(text))
    assert Counted.looks < 8 * size


def test_a_text_goes_on_after_what_was_held_back_is_given_out() -> None:
    cutter = StopCutter(["ab"])
    assert (cutter.feed("xa"), cutter.flush(), cutter.feed("b")) == ("x", "a", "b")
