import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.conversation.call_ids import CallIds, legal_id

WORD = re.compile(r"[a-zA-Z0-9_-]+", re.ASCII)
NINE = re.compile(r"[a-zA-Z0-9]{9}", re.ASCII)


@pytest.mark.parametrize("call_id", ["call_1", "toolu_01A-b", "a" * 64])
def test_a_legal_id_is_left_as_it_is(call_id: str) -> None:
    assert legal_id(call_id, WORD, 64) == call_id


@given(st.text(max_size=80))
def test_every_id_becomes_a_legal_one_and_always_the_same(call_id: str) -> None:
    made = legal_id(call_id, WORD, 64)
    assert WORD.fullmatch(made)
    assert len(made) <= 64
    assert made == legal_id(call_id, WORD, 64)
    assert NINE.fullmatch(legal_id(call_id, NINE, 9))


def test_ids_that_look_alike_stay_apart() -> None:
    ids = ["functions.get:0", "functions_get_0", "functions:get.0", "a" * 70, "a" * 71]
    assert len({legal_id(call_id, WORD, 64) for call_id in ids}) == len(ids)


def test_an_id_that_comes_every_turn_is_another_one_each_time_and_always_the_same_ones() -> None:
    ids, again = CallIds(WORD, 64), CallIds(WORD, 64)
    made = []
    for _ in range(3):
        made.append(ids.new("call_0"))
        assert ids.of("call_0") == made[-1]
    assert made[0] == "call_0"
    assert len(set(made)) == 3
    assert [again.new("call_0") for _ in range(3)] == made


def test_an_id_may_come_at_every_turn_of_the_longest_conversation() -> None:
    """Counted from 1 each time, they would take minutes, in which the process serves nobody."""
    ids = CallIds(WORD, 64)
    assert len({ids.new("call_0") for _ in range(20_000)}) == 20_000
