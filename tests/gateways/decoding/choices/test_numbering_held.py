"""Whose text it is where a server numbers choices in its own way: held until an index tells."""

import pytest

from app.gateways.decoding.choices.numbering import Numbering
from app.vocabulary.completion import Choice


def fed(numbering: Numbering, *indices: int) -> list[list[int]]:
    """Feed pieces one by one; return the indices that were sure after each."""
    return [[c.index for c in numbering.sure((Choice(index, "x"),))] for index in indices]


def test_one_sample_of_each_prompt_is_sure_at_once_where_numbers_begin_with_0() -> None:
    assert fed(Numbering(3, 1), 0, 2, 1) == [[0], [2], [1]]


def test_numbers_that_begin_with_1_are_known_by_the_last_one() -> None:
    numbering = Numbering(3, 1)
    assert fed(numbering, 1, 2) == [[], []]
    assert numbering.holds_text
    assert fed(numbering, 3, 1) == [[0, 1, 2], [0]]
    assert not numbering.holds_text


def test_samples_are_sure_as_soon_as_an_index_is_beyond_the_prompts() -> None:
    numbering = Numbering(2, 2)
    assert fed(numbering, 0, 1) == [[0], []]
    assert fed(numbering, 2, 1, 3) == [[1, 2], [1], [3]]


@pytest.mark.parametrize(
    ("prompts", "n", "seen", "placed"),
    [
        (2, 2, (0, 1), []),  # one for each prompt: `n` was ignored
        (3, 2, (0, 1), [1]),  # no server that numbers prompts leaves one out
        (2, 2, (1,), []),  # numbers may have begun with 1
        (2, 2, (0,), []),  # nothing is held
        (1, 3, (0, 1), []),  # of one prompt, an index beyond it has told all
    ],
)
def test_what_is_still_held_at_the_end_is_given_on_if_it_can_be_placed(
    prompts: int, n: int, seen: tuple[int, ...], placed: list[int]
) -> None:
    numbering = Numbering(prompts, n)
    fed(numbering, *seen)
    assert [choice.index for choice in numbering.held_at_end()] == placed
