"""The tool calls of an assistant's message."""

from typing import Any

import pytest

from app.vocabulary.chat.tools import ToolCall
from tests.api.schemas.chat.loading import message_problem, only

MISSING, TYPE = "missing_required_parameter", "invalid_type"
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def read(*calls: Any) -> tuple[ToolCall, ...]:
    """Return the calls of a message."""
    return only({"role": "assistant", "tool_calls": list(calls)}).tool_calls


def test_calls_are_counted_from_0_and_their_arguments_stay_text() -> None:
    second = {"id": "c2", "function": {"name": "g", "arguments": "no JSON"}}
    assert read(CALL, second) == (
        ToolCall(0, "c1", "f", '{"a": 1}'),
        ToolCall(1, "c2", "g", "no JSON"),
    )


def test_a_custom_tools_input_is_its_arguments() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    assert read(call) == (ToolCall(0, "c1", "sql", "SELECT 1", "custom"),)


def test_a_call_of_an_unknown_type_is_left_to_the_vendor() -> None:
    (call,) = read({"id": "c1", "type": "web_search", "query": "x"})
    assert (call.id, call.type, call.name) == ("c1", "web_search", None)


def test_what_clients_add_is_taken_away_and_what_vendors_add_is_kept() -> None:
    streamed = {**CALL, "index": 3, "custom": None, "extra_content": {"a": 1}}
    streamed["function"] = {**CALL["function"], "parsed_arguments": {"a": 1}}  # type: ignore[dict-item]
    message = only({"role": "assistant", "tool_calls": [streamed]})
    assert message.source["tool_calls"] == [{**CALL, "extra_content": {"a": 1}}]
    assert message.tool_calls[0].extra == {"extra_content": {"a": 1}}
    assert streamed["index"] == 3  # the body itself is not changed


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("f", ("", TYPE)),
        ({"type": "function"}, (".id", MISSING)),
        ({**CALL, "id": 1}, (".id", TYPE)),
        ({**CALL, "type": 1}, (".type", TYPE)),
        ({"id": "c1", "type": "function"}, (".function", MISSING)),
        ({**CALL, "function": "f"}, (".function", TYPE)),
        ({**CALL, "function": {"arguments": "{}"}}, (".function.name", MISSING)),
        ({**CALL, "function": {"name": "f"}}, (".function.arguments", MISSING)),
        ({**CALL, "function": {"name": "f", "arguments": {}}}, (".function.arguments", TYPE)),
        ({"id": "c1", "type": "custom", "custom": {"name": "f"}}, (".custom.input", MISSING)),
    ],
)
def test_what_is_wrong_is_named_with_its_path(call: Any, wrong: tuple[str, str]) -> None:
    path, code = message_problem({"role": "assistant", "tool_calls": [CALL, call]})
    assert (path.removeprefix("tool_calls[1]"), code) == wrong


@pytest.mark.parametrize("calls", ["c1", {"id": "c1"}, 1])
def test_calls_are_a_list(calls: Any) -> None:
    assert message_problem({"role": "assistant", "tool_calls": calls}) == ("tool_calls", TYPE)
