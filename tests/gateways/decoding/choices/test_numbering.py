"""Deltas of several prompts are held back until the server's numbering is certain."""

from app.gateways.decoding.choices.numbering import Numbering
from app.vocabulary.completion import Choice


def indices(choices: tuple[Choice, ...]) -> list[int]:
    return [choice.index for choice in choices]


def test_of_a_server_that_counts_from_0_nothing_is_held_back() -> None:
    numbering = Numbering(2, 1)
    assert indices(numbering.sure((Choice(0, "a"),))) == [0]
    assert indices(numbering.sure((Choice(1, "b"),))) == [1]
    assert not numbering.holds_text


def test_of_a_server_that_counts_from_1_all_is_held_until_the_last_index() -> None:
    numbering = Numbering(2, 1)
    assert numbering.sure((Choice(1, "a"),)) == ()
    assert numbering.holds_text
    assert numbering.sure((Choice(2, "b"),)) == (Choice(0, "a"), Choice(1, "b"))
    assert numbering.sure((Choice(1, "c"),)) == (Choice(0, "c"),)


def test_what_is_held_of_samples_comes_once_an_index_is_beyond_the_prompts() -> None:
    numbering = Numbering(2, 2)
    assert indices(numbering.sure((Choice(0, "a"), Choice(1, "b")))) == [0]
    assert indices(numbering.sure((Choice(2, "c"),))) == [1, 2]


def test_one_choice_for_each_prompt_means_that_n_was_ignored() -> None:
    numbering = Numbering(2, 2)
    numbering.sure((Choice(0, "a"), Choice(1, "b")))
    assert numbering.held_at_end() == ()


def test_at_the_end_what_is_held_is_released_if_it_can_be_placed() -> None:
    numbering = Numbering(3, 2)
    numbering.sure((Choice(0, "a"), Choice(1, "b")))
    assert indices(numbering.held_at_end()) == [1]
    from_one = Numbering(2, 1)
    from_one.sure((Choice(1, "a"),))
    assert from_one.held_at_end() == ()
