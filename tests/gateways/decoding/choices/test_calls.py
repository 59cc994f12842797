"""Tool calls as official clients can read them, however the vendor streams them."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding.choices.calls import StreamedCalls, whole_calls
from app.gateways.decoding.choices.slots import UNNUMBERED
from app.vocabulary.chat.reply import Reply, merged
from app.vocabulary.chat.tools import ToolCall


def piece(index: int, id: str | None = None, name: str | None = None, arguments: str = "") -> Any:
    return ToolCall(index, id, name, arguments)


def read(pieces: Iterable[ToolCall], *, is_complete: bool = True) -> list[ToolCall]:
    """Return everything that is passed on of these pieces, each of its own event."""
    calls = StreamedCalls()
    passed = [told for each in pieces for told in calls.take([each])]
    return passed + calls.close(is_complete=is_complete)


def joined(pieces: Iterable[ToolCall]) -> list[tuple[str | None, str | None, str]]:
    """Return the calls as a client joins them: id, name and arguments."""
    reply = merged(Reply(tool_calls=(each,)) for each in pieces)
    assert reply is not None
    return [(call.id, call.name, call.arguments) for call in reply.tool_calls]


def test_a_call_names_itself_once_however_often_the_vendor_does() -> None:
    passed = read(piece(0, "c1", "f", part) for part in ('{"a"', ":", "1}"))
    assert [(it.id, it.name, it.arguments) for it in passed] == [
        ("c1", "f", '{"a"'),
        (None, None, ":"),
        (None, None, "1}"),
    ]


@pytest.mark.parametrize("numbers", [(1, 4), (0, 0), (UNNUMBERED, UNNUMBERED), (3, 3), (2, 1)])
def test_calls_are_numbered_from_0_in_the_order_in_which_they_appear(
    numbers: tuple[int, int],
) -> None:
    first, second = numbers
    passed = read(
        [
            piece(first, "c1", "f", '{"a":'),
            piece(first, None, None, "1}"),
            piece(second, "c2", "f", '{"a":'),
            piece(second, None, None, "2}"),
        ]
    )
    assert [it.index for it in passed] == [0, 0, 1, 1]
    assert joined(passed) == [("c1", "f", '{"a":1}'), ("c2", "f", '{"a":2}')]


def test_whole_calls_without_ids_or_with_one_number_are_several() -> None:
    passed = read(piece(0, None, "f", f'{{"n":{n}}}') for n in range(3))
    assert [it.index for it in passed] == [0, 1, 2]
    assert len({it.id for it in passed}) == 3
    assert all(it.id and len(it.id) <= 40 for it in passed)


@pytest.mark.parametrize("none", [None, "", "null"])
def test_a_call_without_an_id_gets_one(none: str | None) -> None:
    (told, _) = read([piece(0, none, "f", "{"), piece(0, none, None, "}")])
    assert told.id is not None
    assert told.id.startswith("call_")


def test_an_id_that_comes_late_does_not_begin_another_call() -> None:
    passed = read([piece(0, None, "f"), piece(0, "c1", None, "{}")])
    assert [it.index for it in passed] == [0, 0]


@pytest.mark.parametrize("parts", [[], [""], ["", ""]])
def test_a_call_without_arguments_has_empty_ones_exactly_once(parts: list[str]) -> None:
    passed = read([piece(0, "c1", "f"), *(piece(0, None, None, part) for part in parts)])
    assert joined(passed) == [("c1", "f", "{}")]


def test_a_call_that_was_cut_stays_as_it_is() -> None:
    assert joined(read([piece(0, "c1", "f", '{"city":"Pa')])) == [("c1", "f", '{"city":"Pa')]
    assert joined(read([piece(0, "c1", "f")], is_complete=False)) == [("c1", "f", "")]


def test_pieces_of_calls_at_the_same_time_come_one_call_after_the_other() -> None:
    passed = read(
        [
            piece(0, "c1", "f"),
            piece(1, "c2", "g"),
            piece(0, None, None, '{"a":'),
            piece(1, None, None, '{"b":'),
            piece(0, None, None, "1}"),
            piece(1, None, None, "2}"),
        ]
    )
    assert [it.index for it in passed] == sorted(it.index for it in passed)
    assert joined(passed) == [("c1", "f", '{"a":1}'), ("c2", "g", '{"b":2}')]


def test_what_waits_for_a_call_that_never_ends_still_comes() -> None:
    passed = read([piece(0, "c1", "f"), piece(1, "c2", "g", "{}")])
    assert joined(passed) == [("c1", "f", "{}"), ("c2", "g", "{}")]
    assert [it.index for it in passed] == [0, 0, 1]
    passed = read([piece(0, "c1", "f"), piece(1, "c2", "g", "{}")], is_complete=False)
    assert joined(passed) == [("c1", "f", ""), ("c2", "g", "{}")]


def test_a_custom_tool_takes_any_text_and_none() -> None:
    custom = ToolCall(0, "c1", "sh", "ls", "custom")
    passed = read([custom, ToolCall(1, "c2", "sh", "", "custom")])
    assert [(it.index, it.arguments, it.type) for it in passed] == [
        (0, "ls", "custom"),
        (1, "", "custom"),
    ]


def test_fields_beside_a_call_are_passed_on_with_the_piece_that_had_them() -> None:
    signed = ToolCall(0, "c1", "f", "{}", extra={"extra_content": 1})
    assert read([signed])[0].extra == {"extra_content": 1}
    late = ToolCall(0, extra={"extra_content": 2})
    assert [it.extra for it in read([piece(0, "c1", "f", "{}"), late])] == [
        None,
        {"extra_content": 2},
    ]


def test_half_characters_never_come_out() -> None:
    ((_, name, arguments),) = joined(read([piece(0, "c\ud800", "f\udc80", '"\ud800"')]))
    assert f"{name}{arguments}".encode()


@given(
    st.lists(
        st.dictionaries(st.text(max_size=3), st.integers(), max_size=3), min_size=1, max_size=4
    ),
    st.data(),
)
def test_calls_arrive_whole_however_they_are_cut(
    arguments: list[dict[str, int]], data: st.DataObject
) -> None:
    import json

    pieces = []
    for at, value in enumerate(arguments):
        text = json.dumps(value)
        cut = data.draw(st.integers(0, len(text)))
        pieces += [piece(at, f"c{at}", "f", text[:cut]), piece(at, None, None, text[cut:])]
    passed = read(pieces)
    assert joined(passed) == [
        (f"c{at}", "f", json.dumps(value)) for at, value in enumerate(arguments)
    ]
    assert [it.index for it in passed] == sorted(it.index for it in passed)


def test_calls_of_a_whole_message_are_put_right() -> None:
    first, second = whole_calls([piece(7, None, "f"), piece(7, "c2", "g", '{"a":1}')])
    assert (first.index, first.name, first.arguments) == (0, "f", "{}")
    assert first.id is not None
    assert (second.index, second.id, second.arguments) == (1, "c2", '{"a":1}')


def test_a_character_that_was_split_is_joined_and_half_a_one_replaced() -> None:
    pieces = [piece(0, "c1", "f", '"\ud83d'), piece(0, None, None, '\ude00"')]
    assert joined(read(pieces)) == [("c1", "f", '"\U0001f600"')]
    assert joined(read(pieces[:1], is_complete=False)) == [("c1", "f", '"\ufffd')]


def test_a_call_begins_with_its_name_even_if_the_id_came_before() -> None:
    passed = read([piece(0, "c1"), piece(0, None, "f"), piece(0, None, None, "{}")])
    assert [(it.id, it.name, it.arguments) for it in passed] == [
        ("c1", "f", ""),
        (None, None, "{}"),
    ]


def test_a_call_that_never_says_its_name_keeps_its_id() -> None:
    passed = read([piece(0, "c1")])
    assert [(it.id, it.name, it.arguments) for it in passed] == [("c1", "", ""), (None, None, "{}")]


def test_a_field_that_a_vendor_repeats_is_told_once() -> None:
    extra = {"extra_content": {"google": {"thought_signature": "s"}}}
    begun = ToolCall(0, "c1", "f", "{", "function", extra)
    passed = read([begun, ToolCall(0, None, None, "}", "function", {**extra, "more": 1})])
    assert [it.extra for it in passed] == [extra, {"more": 1}]


@pytest.mark.parametrize(
    "begun",
    [
        [piece(0, None, "f", '{"a": "')],
        [piece(0, "c1", "f", '{"a": "' + "x" * 100_000), piece(1, "c2", "f", '{"a": "')],
    ],
    ids=["its name in each piece", "after a call that is broken"],
)
def test_the_arguments_of_a_call_may_come_in_any_number_of_pieces(begun: list[ToolCall]) -> None:
    """Parsed anew at each piece, they would take minutes."""
    calls, number = StreamedCalls(), begun[-1].index
    name = None if number else "f"
    for each in (*begun, *[piece(number, None, name, "word ")] * 200_000):
        calls.take([each])
    assert len(calls.close(is_complete=False)) == (0 if number == 0 else 200_001)


def test_arguments_are_parsed_only_where_their_brackets_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[str] = []
    loads = json.loads

    def noted(text: str) -> Any:
        parsed.append(text)
        return loads(text)

    monkeypatch.setattr(json, "loads", noted)
    calls, count = StreamedCalls(), 2_000
    first = [ToolCall(0, "a", "f", '{"n":[{}'), ToolCall(1, "b", "g", "{}")]
    passed = calls.take(first)
    for _ in range(count):
        passed += calls.take([ToolCall(0, arguments=",{}")])
    assert {it.index for it in passed} == {0}
    passed = calls.take([ToolCall(0, arguments="]}")])
    assert [it.index for it in passed] == [0, 1]
    assert parsed == ['{"n":[{}' + ",{}" * count + "]}"]
