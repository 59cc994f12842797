"""Deltas of several prompts are held back until the server's numbering is certain."""

import pytest

from app.gateways.decoding.choices.numbering import Numbering
from app.vocabulary.completion import Choice


def fed(numbering: Numbering, *indices: int) -> list[list[int]]:
    """Feed deltas one by one; return the indices that were certain after each."""
    return [[c.index for c in numbering.sure((Choice(index, "x"),))] for index in indices]


def test_of_a_server_that_counts_from_0_nothing_is_held_back() -> None:
    numbering = Numbering(3, 1)
    assert fed(numbering, 0, 2, 1) == [[0], [2], [1]]
    assert not numbering.holds_text


def test_of_a_server_that_counts_from_1_all_is_held_until_the_last_index() -> None:
    numbering = Numbering(3, 1)
    assert numbering.sure((Choice(1, "a"),)) == ()
    assert numbering.sure((Choice(2, "b"),)) == ()
    assert (numbering.holds_text, len(numbering.held_at_end())) == (True, 0)
    last = numbering.sure((Choice(3, "c"),))
    assert last == (Choice(0, "a"), Choice(1, "b"), Choice(2, "c"))
    assert not numbering.holds_text
    assert numbering.sure((Choice(1, "d"),)) == (Choice(0, "d"),)


def test_what_is_held_of_samples_comes_once_an_index_is_beyond_the_prompts() -> None:
    numbering = Numbering(2, 2)
    both = numbering.sure((Choice(0, "a"), Choice(1, "b")))
    assert [choice.index for choice in both] == [0]
    assert fed(numbering, 2, 1, 3) == [[1, 2], [1], [3]]


@pytest.mark.parametrize(
    ("prompts", "n", "seen", "placed"),
    [
        (2, 2, (0, 1), []),  # one for each prompt: `n` was ignored
        (3, 2, (0, 1), [1]),  # no server that numbers prompts leaves one out
        (2, 2, (1,), []),  # numbers may have begun with 1
        (2, 1, (1,), []),
        (2, 2, (0,), []),  # nothing is held
        (1, 3, (0, 1), []),  # of one prompt, an index beyond it was certain at once
    ],
)
def test_at_the_end_what_is_held_is_released_if_it_can_be_placed(
    prompts: int, n: int, seen: tuple[int, ...], placed: list[int]
) -> None:
    numbering = Numbering(prompts, n)
    fed(numbering, *seen)
    assert [choice.index for choice in numbering.held_at_end()] == placed
