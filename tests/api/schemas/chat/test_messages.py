"""Messages: roles, contents, and that what an assistant said can come back."""

from typing import Any

import pytest

from app.api.schemas.chat.checks import ELEMENTS_LIMIT
from app.vocabulary.chat.message import ROLES
from app.vocabulary.chat.parts import TextPart
from tests.api.schemas.chat.loading import USER, load, message_problem, only, problem

MISSING, TYPE, VALUE = "missing_required_parameter", "invalid_type", "invalid_value"
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_a_text_is_one_part_and_the_source_is_as_it_was_written(role: str) -> None:
    source = {"role": role, "content": "a secret", "name": "Ann"}
    message = only(source)
    assert (message.role, message.path, message.source) == (role, "messages[1]", source)
    assert message.parts == (TextPart(text="a secret", source=source, path="messages[1].content"),)
    assert message.name == "Ann"
    assert only({"role": role, "content": "a secret"}).parts[0].path == "messages[1].content"


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("text", ("", TYPE)),
        (None, ("", TYPE)),
        ({}, ("role", MISSING)),
        ({"role": None, "content": "x"}, ("role", MISSING)),
        ({"role": 1, "content": "x"}, ("role", TYPE)),
        ({"role": ["user"], "content": "x"}, ("role", TYPE)),
        ({"role": "boss", "content": "x"}, ("role", VALUE)),
        ({"role": "User", "content": "x"}, ("role", VALUE)),
        ({"role": "user"}, ("content", MISSING)),
        ({"role": "user", "content": None}, ("content", MISSING)),
        ({"role": "system", "content": None}, ("content", MISSING)),
        ({"role": "user", "content": 7}, ("content", TYPE)),
        ({"role": "user", "content": {"type": "text"}}, ("content", TYPE)),
        ({"role": "user", "content": []}, ("content", VALUE)),
        ({"role": "user", "content": "x", "name": 7}, ("name", TYPE)),
        ({"role": "assistant"}, ("content", MISSING)),
        ({"role": "assistant", "content": None, "tool_calls": []}, ("content", MISSING)),
        ({"role": "assistant", "content": None, "tool_calls": None}, ("content", MISSING)),
        ({"role": "assistant", "content": None, "parsed": {"a": 1}}, ("content", MISSING)),
        ({"role": "assistant", "content": "x", "refusal": 1}, ("refusal", TYPE)),
        ({"role": "assistant", "content": "x", "audio": {}}, ("audio.id", MISSING)),
        ({"role": "assistant", "content": "x", "audio": "a"}, ("audio", TYPE)),
        (
            {"role": "assistant", "function_call": {"name": "f"}},
            ("function_call.arguments", MISSING),
        ),
        ({"role": "tool", "content": "x"}, ("tool_call_id", MISSING)),
        ({"role": "tool", "content": "x", "tool_call_id": 1}, ("tool_call_id", TYPE)),
        ({"role": "tool", "tool_call_id": "c1"}, ("content", MISSING)),
        ({"role": "tool", "content": None, "tool_call_id": "c1"}, ("content", MISSING)),
        ({"role": "function", "content": "x"}, ("name", MISSING)),
    ],
)
def test_what_is_wrong_is_named_with_its_path(message: Any, wrong: tuple[str, str]) -> None:
    assert message_problem(message) == wrong


def test_an_invented_role_is_told_which_there_are() -> None:
    with pytest.raises(Exception, match=", ".join(ROLES)):
        load(messages=[{"role": "boss", "content": "x"}])


@pytest.mark.parametrize("empty", [{"content": None}, {}, {"content": ""}, {"content": []}])
def test_beside_tool_calls_no_content_null_and_an_empty_text_are_the_same(
    empty: dict[str, Any],
) -> None:
    message = only({"role": "assistant", **empty, "tool_calls": [CALL]})
    assert message.parts == ()
    assert not message.source["content"]  # the key is there: some servers want it
    assert [call.id for call in message.tool_calls] == ["c1"]


def test_an_answer_can_come_back_as_clients_send_it() -> None:
    """With all the keys that we sent, those of the client's helpers, and null in every other."""
    message = only(
        {
            "content": None,
            "refusal": None,
            "role": "assistant",
            "annotations": [],
            "audio": None,
            "function_call": None,
            "reasoning_content": "because",
            "parsed": {"city": "Rome"},
            "tool_calls": [
                {
                    "index": 0,
                    "id": "c1",
                    "type": "function",
                    "custom": None,
                    "extra_content": {"google": {"thought_signature": "c2ln"}},
                    "function": {
                        "name": "f",
                        "arguments": "{}",
                        "parsed_arguments": {"a": None},
                    },
                }
            ],
        }
    )
    signature = {"google": {"thought_signature": "c2ln"}}
    assert message.source == {
        "content": None,
        "role": "assistant",
        "annotations": [],
        "reasoning_content": "because",
        "tool_calls": [{**CALL, "extra_content": signature}],
    }
    assert message.reasoning == "because"
    assert message.tool_calls[0].extra == {"extra_content": signature}


@pytest.mark.parametrize(
    "stands_in",
    [
        {"refusal": "no"},
        {"audio": {"id": "a1", "transcript": "x"}},
        {"function_call": {"name": "f", "arguments": ""}},
        {"reasoning_content": "cut off by the limit"},
        {"images": [{"type": "image_url"}]},
    ],
)
def test_an_answer_without_text_can_come_back(stands_in: dict[str, Any]) -> None:
    for content in ({}, {"content": None}):
        message = only({"role": "assistant", **content, **stands_in})
        assert message.source == {"role": "assistant", "content": None, **stands_in}


def test_empty_and_unknown_reasoning_is_kept() -> None:
    source = {"role": "assistant", "content": "x", "reasoning_content": "", "reasoning_details": []}
    assert only(source).source == source


def test_a_tools_message_names_its_call_and_an_orphan_is_left_to_the_vendor() -> None:
    message = only({"role": "tool", "tool_call_id": "nobody's", "content": "42"})
    assert (message.tool_call_id, message.text) == ("nobody's", "42")


def test_the_old_functions_result_may_be_null() -> None:
    message = only({"role": "function", "name": "f", "content": None})
    assert (message.name, message.parts, message.source["content"]) == ("f", (), None)


@pytest.mark.parametrize(
    ("messages", "code"), [(None, MISSING), ([], VALUE), ("hi", TYPE), ({"role": "user"}, TYPE)]
)
def test_messages_are_a_list_of_at_least_one(messages: Any, code: str) -> None:
    assert problem(messages=messages) == ("messages", code)


def test_there_may_be_many_messages_but_not_any_number() -> None:
    """A message whose content is a text has one part."""
    half = ELEMENTS_LIMIT // 2
    assert len(load(messages=[USER] * half).messages) == half
    assert problem(messages=[USER] * (half + 1)) == ("messages", VALUE)
    assert problem(messages=[USER] * (ELEMENTS_LIMIT + 1)) == ("messages", VALUE)
    assert problem(messages=[USER] * 600 + [{"role": "user"}]) == ("messages[600].content", MISSING)


def test_parts_and_calls_count_too() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "x"}] * 100}
    calls = {"role": "assistant", "tool_calls": [CALL] * 100}
    for message in (parts, calls):
        some = ELEMENTS_LIMIT // 101
        assert len(load(messages=[message] * some).messages) == some
        assert problem(messages=[message] * (some + 1)) == ("messages", VALUE)
