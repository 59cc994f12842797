"""The choices of a response: one text and one end each, in the request's slots."""

from app.gateways.decoding.choices.deltas import Choices
from app.gateways.decoding.choices.slots import UNNUMBERED
from app.vocabulary.completion import Choice


def test_a_delta_is_passed_on_without_its_end() -> None:
    choices, plain = Choices(1, 1), Choice(0, "a")
    passed, slots = choices.take((plain,))
    assert passed[0] is plain
    assert slots == [0]
    passed, _ = choices.take((Choice(0, "b", "length", None, "odd"),))
    assert passed == [Choice(0, "b")]
    assert choices.tail() == (Choice(0, "", "length", None, "odd"),)


def test_an_end_beside_each_delta_leaves_one_text() -> None:
    choices = Choices(1, 1)
    texts = [choices.take((Choice(0, text, "stop"),))[0][0].text for text in "abc"]
    assert texts == ["a", "b", "c"]
    assert choices.is_open_ended
    assert choices.tail() == (Choice(0, "", "stop"),)


def test_text_after_an_end_is_of_the_next_sample() -> None:
    choices = Choices(1, 2)
    for delta in (Choice(0, "a"), Choice(0, "", "stop")):
        choices.take((delta,))
    assert choices.take((Choice(0, "b"),))[0] == [Choice(1, "b")]


def test_choices_that_cannot_be_placed_are_surplus() -> None:
    choices = Choices(2, 1)
    assert choices.take((Choice(UNNUMBERED, "a"),))[0] == []
    choices.take((Choice(0, "a"), Choice(5, "b")))
    choices.release()
    assert choices.surplus == 2


def test_unnumbered_choices_are_numbered_by_their_places_if_all_are_there() -> None:
    choices = Choices(1, 2)
    both = (Choice(UNNUMBERED, "a"), Choice(UNNUMBERED, "b"))
    assert choices.take(both)[0] == [Choice(0, "a"), Choice(1, "b")]


def test_what_is_held_back_is_released_at_the_end() -> None:
    choices = Choices(3, 2)
    passed, _ = choices.take((Choice(0, "a"), Choice(1, "b")))
    assert passed == [Choice(0, "a")]
    assert choices.has_text
    assert choices.release() == [Choice(1, "b")]


def test_a_half_character_is_completed_or_replaced_in_the_tail() -> None:
    choices = Choices(1, 1)
    assert choices.take((Choice(0, "a\ud83d"),))[0] == [Choice(0, "a")]
    assert choices.holds
    choices.finish()
    assert choices.tail() == (Choice(0, "\ufffd", "stop"),)


def test_a_failed_choice_is_missing_unless_the_response_failed_with_it() -> None:
    silent, heard = Choices(1, 2), Choices(1, 2)
    silent.take((Choice(0, "a", "stop"), Choice(1, "", "error")))
    assert silent.drop_failed() is None
    assert silent.missing == [1]
    heard.take((Choice(0, "a", "stop"), Choice(1, "b", "error", None, "abort")))
    lost = heard.drop_failed()
    assert lost is not None
    assert lost.native_finish_reason == "abort"


def test_a_failure_is_final() -> None:
    choices = Choices(1, 1)
    choices.take((Choice(0, "", "error"),))
    choices.take((Choice(0, "", "stop"),))
    assert choices.ends[0].finish_reason == "error"


def test_whole_choices_come_in_the_order_of_their_slots_with_an_end() -> None:
    choices = Choices(1, 3)
    whole = (Choice(2, "c"), Choice(0, "a", "length"), Choice(1, "", "error"))
    assert choices.take_whole(whole) == (Choice(0, "a", "length"), Choice(2, "c", "stop"))
    assert choices.drop_failed() is None
    assert choices.missing == [1]
